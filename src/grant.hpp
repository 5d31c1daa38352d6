// grant.hpp - deciding and making a grant, without any waiting.
//
// Locks, all in the space of tag.hpp, held to the end of the transaction once something is written:
//   exclusive grant            Exclusive on slot 0 and on every slot >= 1 that has a row
//   renewal, release           ShareUpdateExclusive on the own slot
//   fence, holder in slot 0    RowExclusive on slot 0; holder in a slot >= 1: RowShare on it
// So any number of fenced writers of one holder run together, a heartbeat on another connection
// gets through, and a grant waits for both.  Grants never queue on these tags, since renewals of a
// healthy holder would queue behind them: they take them at once or not at all.
//
// What is decided from a read without locks is only a refusal; a fresh read under the lock decides.
#pragma once
#include "lease.hpp"

namespace distlock {

struct Request {
    std::string_view name;
    int64 ttl;    // microseconds
    int64 wait;   // microseconds; kForever = no limit
    text *owner;  // null = none
    struct varlena *metadata;
    const pg_uuid_t *request_id;
    Mode mode;
    int32 capacity;
    int64 min_hold, lock_delay;
    bool session_bound, durable;
    Oid role;
};

inline constexpr int64 kForever = -1;

// A set of leases that one queue head has been looking at: when they do not change for as long as
// they were granted, they are over whatever the clocks say.
struct Sighting {
    int64 token = 0;
    TimestampTz renewed = 0;
    int64 since = 0;  // BOOTTIME of the first look
};

struct Attempt {
    int64 token;     // 0 = not granted
    int64 retry_in;  // microseconds until the lease in the way ends; 0 = free, but a transaction
                     // that is still open stands in the way
};

// One attempt, standing in the queue's turn (the turnstile is the caller's business).
Attempt try_grant(const Request &request, Sighting &sighting);

// One attempt beside the queue: NULL when somebody waits.  A failed one takes no lock at all.
int64 try_once(const Request &request);

}  // namespace distlock
