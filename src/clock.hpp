// clock.hpp - the lease clock: what the server reads to tell whether a lease is over.
//
// A row remembers both clocks.  Written in this boot of this machine, CLOCK_BOOTTIME decides, so a
// step of the wall clock neither extends nor ends a lease; otherwise the stored wall-clock time
// does.  Times are microseconds.  Never transaction time, never a client's clock.
#pragma once
#include "pg.hpp"

namespace distlock {

struct Instant {
    TimestampTz wall;
    int64 boot;         // CLOCK_BOOTTIME
    pg_uuid_t boot_id;  // of the kernel that runs us; all zero where it has none
};

// Both clocks, read now.
Instant clock_now();

// A point in time as a row keeps it: the clocks it was written by, and the two readings.
struct Stamp {
    TimestampTz wall;
    int64 boot;
};

// `later` microseconds after `now`.
constexpr Stamp after(const Instant &now, int64 later) {
    return {now.wall + later, now.boot + later};
}

// Whether the clocks read at `written` are this boot's: another boot's BOOTTIME means nothing here,
// nor does one that lies ahead of ours.
bool is_of_boot(const Stamp &written, const pg_uuid_t &boot_id, const Instant &now);

// Microseconds from now until `when`, negative once it has passed.  `written` and `boot_id` belong
// to the row.
int64 until(const Stamp &when, const Stamp &written, const pg_uuid_t &boot_id, const Instant &now);

}  // namespace distlock
