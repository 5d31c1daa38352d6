// grant.cpp - see grant.hpp.
#include "grant.hpp"

#include <algorithm>
#include <cstring>

#include "evict.hpp"
#include "renew.hpp"
#include "token.hpp"
#include "txn.hpp"
#include "wake.hpp"

namespace distlock {
namespace {

bool same_request(const Lease &lease, const Request &request) {
    return request.request_id != nullptr && lease.request_id != nullptr && !lease.released &&
           std::memcmp(lease.request_id->data, request.request_id->data, UUID_LEN) == 0 &&
           lease.role == request.role && lease.mode == request.mode &&
           lease.capacity == request.capacity && lease.session_pid == 0;
}

// What a read says about a request.
struct Verdict {
    bool grantable;
    int64 retry_in;
    Lease *own;  // the living grant of the same request_id
};

// The clocks may say that a lease lives while it stood unchanged for its whole length before our
// eyes (a clock that was set back, or a row from another machine).
bool outwatched(const Lease &lease, Sighting &sighting, const Instant &now) {
    if (sighting.token != lease.token || sighting.renewed != lease.renewed.wall) {
        sighting = {lease.token, lease.renewed.wall, now.boot};
        return false;
    }
    const int64 length = lease.expires.boot - lease.renewed.boot + lease.lock_delay;
    return now.boot - sighting.since >= length;
}

Verdict judge(std::span<Lease> rows, const Request &request, Sighting &sighting) {
    const Instant now = clock_now();
    int64 busy = 0;
    for (Lease &row : rows) {
        const int64 left = busy_for(row, now);
        if (left <= 0) continue;
        if (same_request(row, request) && state_of(row, now) == State::kHeld)
            return {false, 0, &row};
        if (outwatched(row, sighting, now)) continue;
        // Sleep no longer than to the moment when watching alone will have decided.
        const int64 length = row.expires.boot - row.renewed.boot + row.lock_delay;
        busy = std::max(busy, std::min(left, sighting.since + length - now.boot));
    }
    return {busy <= 0, busy, nullptr};
}

// Everything about the new grant, written over `row` (the slot's old row) or fresh.
int64 write_grant(const Request &request, const Lease *old) {
    Lease lease{};
    if (old != nullptr) lease = *old;
    const bool takeover = old != nullptr && !old->released;
    lease.name = old != nullptr ? old->name
                                : cstring_to_text_with_len(request.name.data(),
                                                           static_cast<int>(request.name.size()));
    lease.token = next_token();
    const Instant now = clock_now();
    lease.acquired = lease.renewed = after(now, 0);
    lease.expires = after(now, request.ttl);
    lease.boot_id = now.boot_id;
    lease.ttl = request.ttl;
    lease.min_hold = request.min_hold;
    lease.lock_delay = request.lock_delay;
    lease.grants++;
    lease.takeovers += takeover;
    lease.role = request.role;
    lease.slot = 0;
    lease.capacity = request.capacity;
    lease.mode = request.mode;
    lease.released = false;
    lease.session_pid = 0;
    lease.request_id = request.request_id;
    lease.owner = request.owner;
    lease.metadata = request.metadata;
    txn::before_write();
    if (old != nullptr)
        update_lease(lease);
    else
        insert_lease(lease);
    txn::after_write(request.durable ? txn::Write::kDurable : txn::Write::kUndurable);
    txn::touch(request.name);
    txn::drop_check(request.name);
    txn::clean_at_commit();
    return lease.token;
}

// A retry beside its own first attempt, which has not committed yet: waits for that one to end.
bool await_own_attempt(const Request &request) {
    if (request.request_id == nullptr) return false;
    const Lease *pending = read_pending(request.name);
    if (pending == nullptr || !same_request(*pending, request)) return false;
    const LOCKTAG tag = slot_tag(request.name, 0);
    if (!lock_within(tag, ShareUpdateExclusiveLock, kPatienceMs)) return false;
    unlock(tag, ShareUpdateExclusiveLock);
    return true;
}

int64 renew_own(const Request &request, const Lease &own) {
    return renew_lease(request.name, own.token, request.ttl, request.durable) ? own.token : 0;
}

Lease *slot_zero(std::span<Lease> rows) {
    return !rows.empty() && rows.back().slot == 0 ? &rows.back() : nullptr;
}

// The decision: takes the lock's tags at once or not at all, reads again, and grants.
Attempt take(const Request &request, Sighting &sighting) {
    const LOCKTAG tag = slot_tag(request.name, 0);
    if (!lock_now(tag, ExclusiveLock)) {
        if (!await_own_attempt(request)) {
            evict_if_due(request.name, tag);
            return {0, 0};
        }
        const Verdict verdict = judge(read_lock(request.name), request, sighting);
        return {verdict.own != nullptr ? renew_own(request, *verdict.own) : 0, 0};
    }
    const std::span<Lease> rows = read_lock(request.name);
    const Verdict verdict = judge(rows, request, sighting);
    if (verdict.grantable) return {write_grant(request, slot_zero(rows)), 0};
    unlock(tag, ExclusiveLock);
    return {verdict.own != nullptr ? renew_own(request, *verdict.own) : 0, verdict.retry_in};
}

}  // namespace

Attempt try_grant(const Request &request, Sighting &sighting) {
    const Verdict verdict = judge(read_lock(request.name), request, sighting);
    if (verdict.own != nullptr) return {renew_own(request, *verdict.own), 0};
    if (!verdict.grantable) return {0, verdict.retry_in};
    return take(request, sighting);
}

int64 try_once(const Request &request) {
    Sighting sighting;
    const Verdict verdict = judge(read_lock(request.name), request, sighting);
    if (verdict.own != nullptr) return renew_own(request, *verdict.own);
    if (!verdict.grantable) return 0;
    const LOCKTAG turnstile = turnstile_tag(queue_of(request.name));
    if (!lock_now(turnstile, RowShareLock)) return 0;
    const int64 token = take(request, sighting).token;
    unlock(turnstile, RowShareLock);
    return token;
}

}  // namespace distlock
