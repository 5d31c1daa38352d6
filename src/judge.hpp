// judge.hpp - what the rows of a lock say about a request.
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
    Mode mode;  // kExclusive with capacity > 1 asks for a permit
    int32 capacity;
    int64 min_hold, lock_delay;
    bool session_bound, durable;
    Oid role;
};

inline constexpr int64 kForever = -1;

// What one queue head has been looking at: leases that do not change for as long as they were
// granted are over, whatever the clocks say (one was set back, or the row is another machine's).
struct Sighting {
    uint64 leases = 0;  // what all of them look like, as one number
    int64 since = 0;    // BOOTTIME of the first look
};

struct Verdict {
    bool grantable;
    int64 retry_in;   // microseconds until what is in the way ends; 0 = nothing is
    Lease *own;       // the living grant of the same request_id
    bool outwatched;  // grantable although the clocks say otherwise
};

// Error (22023) when the lock is of another kind or capacity than the request names.
Verdict judge(std::span<Lease> rows, const Request &request, Sighting &sighting);

// A lock is one exclusive holder or many shared ones, or a semaphore.  Slot 0 of a semaphore is its
// header: never held, it keeps the capacity.
bool is_semaphore(std::span<Lease> rows);
// Capacity of a semaphore as set now.
int32 capacity_of(std::span<Lease> rows);
bool wants_permit(std::span<Lease> rows, const Request &request);

// Whether the row is the living or pending grant of the very same request.
bool same_request(const Lease &lease, const Request &request);

// Whether the grant is held: not over, and its session, if it is bound to one, is there.
bool lives(const Lease &lease);

// Whether the slot is held, or kept from being taken for now.
bool is_busy(const Lease &lease);

Lease *row_of_slot(std::span<Lease> rows, int32 slot);

}  // namespace distlock
