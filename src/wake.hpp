// wake.hpp - waking who waits for a lock: the head of its queue, and watchers.
#pragma once
#include "tag.hpp"

namespace distlock {

inline LOCKTAG turnstile_tag(uint64 queue) { return lock_tag(LockClass::kTurnstile, queue); }
inline uint64 queue_of(std::string_view name) { return lock_hash(name, 0); }

// Sets the latch of each backend that holds the queue's turnstile: the head holds it Exclusive,
// watchers AccessShare.  Cheap when nobody does; no table access, no error: may be called while a
// transaction ends.
enum class Wake { kAll, kWatchers };
void wake(uint64 queue, Wake whom = Wake::kAll);

}  // namespace distlock
