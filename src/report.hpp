// report.hpp - the facts about a lock that an error's DETAIL gives, in words.
#pragma once
#include "lease.hpp"
#include "tag.hpp"

namespace distlock {

// "1.234 s"
const char *seconds(int64 us);

// Who holds the lock, under which token, since when and for how long: a sentence.
const char *lock_facts(std::string_view name, std::span<Lease> rows);

// Which sessions' open transactions hold the tag against `mode`: a sentence.
const char *pin_facts(const LOCKTAG &tag, LOCKMODE mode);

// 55P03: somebody's open transaction keeps `what` from being done.
[[noreturn]] void report_pinned(const char *what, std::string_view name, const LOCKTAG &tag,
                                LOCKMODE mode);

}  // namespace distlock
