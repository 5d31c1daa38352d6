// grant.cpp - see grant.hpp.
#include "grant.hpp"

#include <algorithm>

#include "check.hpp"
#include "event.hpp"
#include "evict.hpp"
#include "memo.hpp"
#include "renew.hpp"
#include "session.hpp"
#include "token.hpp"
#include "txn.hpp"
#include "wake.hpp"

namespace distlock {
namespace {

Lease new_lease(const Request &request, const Lease *old, int32 slot, Mode mode) {
    Lease lease{};
    if (old != nullptr) lease = *old;
    if (old == nullptr)
        lease.name =
            cstring_to_text_with_len(request.name.data(), static_cast<int>(request.name.size()));
    const Instant now = clock_now();
    lease.acquired = lease.renewed = after(now, 0);
    lease.expires = after(now, request.ttl);
    lease.boot_id = now.boot_id;
    lease.ttl = request.ttl;
    lease.min_hold = request.min_hold;
    lease.lock_delay = request.lock_delay;
    lease.grants++;
    lease.takeovers += old != nullptr && !old->released;
    lease.role = request.role;
    lease.slot = slot;
    lease.capacity = request.capacity;
    lease.mode = mode;
    lease.released = false;
    lease.session_pid = request.session_bound ? MyProcPid : 0;
    lease.request_id = request.request_id;
    lease.owner = request.owner;
    lease.metadata = request.metadata;
    return lease;
}

// The clocks are read after the token: the lease counts from the last moment before it is written.
int64 write_grant(const Request &request, const Lease *old, int32 slot, Mode mode) {
    txn::before_write();  // the token is written too
    const int64 token = next_token();
    Lease lease = new_lease(request, old, slot, mode);
    lease.token = token;
    remember(lease, old != nullptr ? update_lease(lease) : insert_lease(lease));
    txn::after_write(request.durable ? txn::Write::kDurable : txn::Write::kUndurable);
    txn::touch(request.name, true);
    checks::drop(request.name);
    txn::clean_at_commit();
    if (request.session_bound) {
        bind_to_session(request.name, token);
        unbind_lost(request.name);
    }
    if (old != nullptr && !old->released) announce(Event::kExpired, request.name, *old);
    announce(Event::kGranted, request.name, lease);
    return token;
}

// A semaphore's header keeps its capacity; it is never held.
void write_header(const Request &request, int64 token) {
    Lease header = new_lease(request, nullptr, 0, Mode::kPermit);
    header.token = token;
    header.expires = header.renewed;
    header.released = true;
    header.released_at = header.renewed.wall;
    header.session_pid = 0;
    header.request_id = nullptr;
    header.owner = nullptr;
    header.metadata = nullptr;
    insert_lease(header);
}

// A retry beside its own first attempt, which has not committed yet: waits for that one to end.
// True when there was one.
bool await_own_attempt(const Request &request) {
    if (request.request_id == nullptr) return false;
    for (const Lease &pending : read_pending(request.name)) {
        if (!same_request(pending, request)) continue;
        const LOCKTAG tag = slot_tag(request.name, pending.slot);
        if (lock_within(tag, ShareUpdateExclusiveLock, kPatienceMs))
            unlock(tag, ShareUpdateExclusiveLock);
        return true;
    }
    return false;
}

// The answer to a retry: the same grant, its lease running in full again.
int64 renew_own(const Request &request, const Lease &own) {
    bool busy = false;  // then the answer is "not now": ask again
    return renew_lease(request.name, own.token, request.ttl, request.durable, &busy) ? own.token
                                                                                     : 0;
}

Attempt answer_own(const Request &request, Sighting &sighting) {
    const Verdict verdict = judge(read_lock(request.name), request, sighting);
    return {verdict.own != nullptr ? renew_own(request, *verdict.own) : 0, 0};
}

// An open transaction is in the way.  Who waits is woken when it ends, but not when all that it did
// was to make a grant: then the end of that is what matters.
Attempt stand_back(std::string_view name, int32 slot) {
    return {0, std::min(evict_if_due(name, slot), kRecheck)};
}

// Locks that are given back together when the grant is not made.
class Locks {
public:
    explicit Locks(std::string_view name) : name_(name) {}

    bool take(int32 slot, LOCKMODE mode) {
        if (!lock_now(slot_tag(name_, slot), mode)) return false;
        held_ = lappend_int(lappend_int(held_, slot), mode);
        return true;
    }

    void give_back() {
        for (int i = 0; i < list_length(held_); i += 2)
            unlock(slot_tag(name_, list_nth_int(held_, i)), list_nth_int(held_, i + 1));
        held_ = NIL;
    }

private:
    std::string_view name_;
    List *held_ = NIL;
};

Attempt take_exclusive(const Request &request, const Reading &seen, Sighting &sighting) {
    Locks locks(request.name);
    if (!locks.take(0, ExclusiveLock)) {
        if (await_own_attempt(request)) return answer_own(request, sighting);
        return stand_back(request.name, 0);
    }
    Reading rows = read_again(request.name, seen);
    txn::require_room(rows.size());
    bool others = false;
    for (const Lease &row : rows) {
        if (row.slot == 0) continue;
        others = true;
        if (locks.take(row.slot, ExclusiveLock)) continue;
        locks.give_back();
        return stand_back(request.name, row.slot);
    }
    // A renewal may have come in before its slot was locked; new slots cannot: slot 0 stops them.
    if (others) rows = read_again(request.name, rows);
    const Verdict verdict = judge(rows, request, sighting);
    if (!verdict.grantable) {
        locks.give_back();
        return {verdict.own != nullptr ? renew_own(request, *verdict.own) : 0, verdict.retry_in};
    }
    bury_expired_shared(request.name, rows);
    return {write_grant(request, row_of_slot(rows, 0), 0, Mode::kExclusive), 0};
}

// Permits above the capacity (it was lowered) count too: then one permit is granted at a time, and
// those slots are kept from being renewed meanwhile.  False when one cannot be kept.
bool take_slots_above(Locks &locks, const Request &request, std::span<Lease> rows) {
    for (const Lease &row : rows)
        if (row.slot > request.capacity && !row.released && !locks.take(row.slot, ExclusiveLock))
            return false;
    return true;
}

bool has_slots_above(const Request &request, std::span<Lease> rows) {
    for (const Lease &row : rows)
        if (row.slot > request.capacity && !row.released) return true;
    return false;
}

// The name's own lock for a shared grant or a permit: the mode taken, or NoLock.
LOCKMODE take_name(Locks &locks, const Request &request, std::span<Lease> rows) {
    const bool permit = request.mode != Mode::kShared;
    const bool alone =
        permit && (row_of_slot(rows, 0) == nullptr || has_slots_above(request, rows));
    const LOCKMODE mode = alone ? ExclusiveLock : ShareLock;
    if (locks.take(0, mode))
        return permit && !take_slots_above(locks, request, rows) ? NoLock : mode;
    if (mode == ShareLock || !rows.empty()) return NoLock;
    // Another first permit fixes the capacity right now: its transaction is worth a moment.
    const LOCKTAG tag = slot_tag(request.name, 0);
    if (!lock_within(tag, ShareLock, kPatienceMs)) return NoLock;
    unlock(tag, ShareLock);
    // If it has given up, this is the first permit now.
    const bool begun = row_of_slot(read_lock(request.name), 0) != nullptr;
    const LOCKMODE now = begun ? ShareLock : ExclusiveLock;
    return locks.take(0, now) ? now : NoLock;
}

struct Slots {
    Reading rows;
    bool permit;
    bool outwatched;
    int32 pinned;  // a free slot that an open transaction keeps
};

// Whether the slot can be taken, as far as its row goes.
bool is_open(const Slots &slots, const Lease *row) {
    return row == nullptr || (slots.outwatched && slots.permit) || !is_busy(*row);
}

// Takes the first slot that nobody holds or is taking; what is written under its lock is decided by
// a read under its lock.  0 = none.
int64 take_free_slot(const Request &request, Slots &slots) {
    const int32 last = slots.permit ? request.capacity : PG_INT32_MAX;
    std::size_t next = slots.rows.size();  // rows come with slots descending: walked from the back
    for (int32 slot = 1; slot <= last; slot++) {
        while (next > 0 && slots.rows[next - 1].slot < slot) next--;
        const Lease *seen =
            next > 0 && slots.rows[next - 1].slot == slot ? &slots.rows[next - 1] : nullptr;
        if (!is_open(slots, seen)) continue;
        Locks lock(request.name);
        if (!lock.take(slot, ExclusiveLock)) {
            slots.pinned = slot;
            continue;
        }
        const Lease *row = row_of_slot(read_again(request.name, slots.rows), slot);
        const bool unchanged =
            row == nullptr || seen == nullptr ||
            (row->token == seen->token && row->renewed.wall == seen->renewed.wall);
        if (unchanged ? is_open(slots, row) : !is_busy(*row))
            return write_grant(request, row, slot, slots.permit ? Mode::kPermit : Mode::kShared);
        lock.give_back();
    }
    return 0;
}

// Two attempts of one request would find two free slots: the second waits for the first to end.
bool one_at_a_time(const Request &request) {
    if (request.request_id == nullptr) return true;
    const std::string_view id{reinterpret_cast<const char *>(request.request_id->data), UUID_LEN};
    const auto name = static_cast<int64>(lock_hash(request.name, 0));
    return lock_within(lock_tag(LockClass::kRequest, lock_hash(id, name)), ExclusiveLock,
                       kPatienceMs);
}

Attempt take_slot(const Request &request, Reading seen, Sighting &sighting) {
    if (!one_at_a_time(request)) return {0, 0};
    if (request.request_id != nullptr) {
        seen = read_again(request.name, seen);
        const Verdict verdict = judge(seen, request, sighting);
        if (verdict.own != nullptr) return {renew_own(request, *verdict.own), 0};
    }
    Locks locks(request.name);
    const LOCKMODE mode = take_name(locks, request, seen);
    if (mode == NoLock) {
        locks.give_back();
        return stand_back(request.name, 0);
    }
    const Reading rows = read_again(request.name, seen);
    const Verdict verdict = judge(rows, request, sighting);
    Slots slots{rows, wants_permit(rows, request), verdict.outwatched, 0};
    // Without a header only the one who locked the name alone may begin a semaphore.
    const bool begins = slots.permit && row_of_slot(rows, 0) == nullptr;
    const int64 token = verdict.grantable && (!begins || mode == ExclusiveLock)
                            ? take_free_slot(request, slots)
                            : 0;
    if (token != 0) {
        if (begins) write_header(request, token);
        return {token, 0};
    }
    locks.give_back();
    if (slots.pinned != 0) return stand_back(request.name, slots.pinned);
    return {verdict.own != nullptr ? renew_own(request, *verdict.own) : 0, verdict.retry_in};
}

Attempt take(const Request &request, const Reading &rows, Sighting &sighting) {
    return request.mode == Mode::kShared || wants_permit(rows, request)
               ? take_slot(request, rows, sighting)
               : take_exclusive(request, rows, sighting);
}

}  // namespace

void bury_expired_shared(std::string_view name, std::span<Lease> rows) {
    for (Lease &row : rows) {
        if (row.slot == 0 || row.released) continue;
        row.released = true;
        row.released_at = DT_NOBEGIN;
        row.expires = row.renewed;  // else one that is over by its session would stand as kept
        update_lease(row);
        announce(Event::kExpired, name, row);
    }
}

Attempt try_grant(const Request &request, Sighting &sighting) {
    const Reading rows = read_lock(request.name);
    const Verdict verdict = judge(rows, request, sighting);
    if (verdict.own != nullptr) return {renew_own(request, *verdict.own), 0};
    if (!verdict.grantable) return {0, verdict.retry_in};
    return take(request, rows, sighting);
}

Attempt try_once(const Request &request) {
    Sighting sighting;
    const Reading rows = read_lock(request.name);
    const Verdict verdict = judge(rows, request, sighting);
    if (verdict.own != nullptr) return {renew_own(request, *verdict.own), 0};
    if (!verdict.grantable) return {0, verdict.retry_in};
    const LOCKTAG turnstile = turnstile_tag(queue_of(request.name));
    if (!lock_now(turnstile, RowShareLock)) return {0, 0};
    const Attempt attempt = take(request, rows, sighting);
    unlock(turnstile, RowShareLock);
    return attempt;
}

}  // namespace distlock
