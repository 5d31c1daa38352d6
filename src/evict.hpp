// evict.hpp - ending the sessions whose open transactions pin a lock that is long over.
#pragma once
#include "pg.hpp"

namespace distlock {

// Fence pins go when the slot's lease has been over for longer than distlock.evict_after; a grant
// or other change that an open transaction is making, when what it writes has been over for that
// long. Their sessions are terminated: they get 57P01 and their writes are gone.  Returns without
// waiting for them: in how many microseconds the first lease of the lock, committed or being
// written, ends; 0 = none.
int64 evict_if_due(std::string_view name, int32 slot);

}  // namespace distlock
