// lease.hpp - the lease table: one row per slot of a lock, read and written without SQL.
//
// A lock's current grant is judged over all rows of its name.  Exclusive grants live in slot 0,
// shared holders and semaphore permits in slots >= 1; a released row stays (free) and keeps its
// token.  Whoever writes a row holds a lock on its slot's tag that excludes every other writer
// (grant.hpp says which), so no row has two writers at a time.
//
// Reads use a snapshot newer than the tag lock, never the transaction's, and take no predicate
// locks: the answers are the same at every isolation level.
#pragma once
#include <span>

#include "clock.hpp"
#include "pg.hpp"
#include "rows.hpp"

namespace distlock {

// kPermit: a row of a semaphore; told to people as exclusive, with the capacity.
enum class Mode : char { kExclusive = 'x', kShared = 's', kPermit = 'p' };

struct Lease {
    Place place;  // of the version that was read
    text *name;
    int64 token;
    Stamp acquired;
    Stamp renewed;      // the last write: grant, renewal or release
    Stamp expires;      // of a released row: from when on it may be taken (minimum hold)
    pg_uuid_t boot_id;  // boot that the three stamps belong to
    int64 ttl, min_hold, lock_delay;  // microseconds
    int64 grants, takeovers;
    Oid role;
    int32 slot, capacity;
    Mode mode;
    bool released;
    TimestampTz released_at;
    int32 session_pid;            // 0 = not bound to a session
    const pg_uuid_t *request_id;  // null = none
    struct varlena *owner;        // text as stored, maybe compressed; null = none
    struct varlena *metadata;     // jsonb as stored; null = none
    TransactionId writer;         // of a pending version: who is writing it; else invalid
};

inline std::string_view name_of(const Lease &lease) {
    return pg::from_datum<std::string_view>(PointerGetDatum(lease.name));
}

// A shared grant that an exclusive one or a semaphore took over is marked released, at no time: its
// own holder never gave it back.
inline bool is_buried(const Lease &lease) {
    return lease.released && TIMESTAMP_IS_NOBEGIN(lease.released_at);
}

enum class State { kFree, kHeld, kExpired, kMinHold, kLockDelay };

State state_of(const Lease &lease, const Instant &now);

// Microseconds until somebody else may take the slot; not positive = now.
int64 busy_for(const Lease &lease, const Instant &now);

// Microseconds since the lease ended, by expiry or release; negative while it lives.
int64 over_for(const Lease &lease, const Instant &now);

// Microseconds until the grant's minimum hold is over; not positive = it is.
int64 hold_for(const Lease &lease, const Instant &now);

// When something was read.
struct Moment {
    uint64 ended = 0;       // how many transactions of the server had ended by then; 0 = not known
    CommandId command = 0;  // of this transaction
};

// As long as no transaction has ended since, a new snapshot would be the same and show the same.
bool is_unchanged_since(const Moment &earlier);

// All rows of a lock as last committed (and written by this transaction), slots descending.
struct Reading : std::span<Lease>, Moment {};

Reading read_lock(std::string_view name);

// The lock's rows once more, now that the caller has locked what it will decide on.
Reading read_again(std::string_view name, const Reading &earlier);

// The rows of the lock that open transactions of other sessions are writing, as they write them.
std::span<Lease> read_pending(std::string_view name);

// The row at this place, as last committed or by this transaction; null = it is not known to be
// there.  With a row the table stays locked in `mode`, as after a scan, and *when says when it was
// read.
Lease *read_lease_at(const Place &place, LOCKMODE mode, Moment *when);

// The row that makes `token` the lock's current grant, expired or not; null = it is not.
Lease *current_grant(std::span<Lease> rows, int64 token);

// The grant that stands: the highest token not released; null = nobody's.
Lease *standing_grant(std::span<Lease> rows);

// Each makes its change visible to the next call of the same statement, and returns the row's new
// place.
Place insert_lease(const Lease &lease);
// Writes over the row version at `lease.place`.
Place update_lease(const Lease &lease);

// Calls body(lease, context) for each row, as scan_table does.
using EachLease = void (*)(Lease &lease, void *context);
void each_lease(const Extent &extent, EachLease body, void *context);

// Deletes this version of the row, if nobody has changed it; never waits.
bool delete_lease(const Lease &lease);

}  // namespace distlock
