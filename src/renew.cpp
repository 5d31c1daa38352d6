// renew.cpp - see renew.hpp.
#include "renew.hpp"

#include <algorithm>

#include "check.hpp"
#include "event.hpp"
#include "judge.hpp"
#include "memo.hpp"
#include "report.hpp"
#include "session.hpp"
#include "token.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

// A grant that may be lost but is not over-written, or only a living one.
enum class Want { kCurrent, kLiving };

Lease *find_grant(std::span<Lease> rows, int64 token, Want want) {
    Lease *lease = current_grant(rows, token);
    if (lease == nullptr || want == Want::kCurrent) return lease;
    return lives(*lease) ? lease : nullptr;
}

struct Action {
    const char *verb;
    Want want;
    bool anybody;          // no membership needed
    bool *busy = nullptr;  // if given: no waiting, and true when somebody is in the way
};

// The caller's grant, locked for writing to the end of the transaction; null = it has none, and no
// lock is kept.
Lease *lock_grant(std::string_view name, int64 token, const Action &action) {
    const char *verb = action.anybody ? nullptr : action.verb;
    if (Lease *own = lock_remembered(name, token, ShareUpdateExclusiveLock, verb)) return own;
    for (;;) {
        const Reading rows = read_lock(name);
        const Lease *seen = find_grant(rows, token, action.want);
        if (seen == nullptr) return nullptr;
        if (!action.anybody) check_holder(name, *seen, action.verb);
        const LOCKTAG tag = slot_tag(name, seen->slot);
        if (action.busy != nullptr) {
            *action.busy = !lock_now(tag, ShareUpdateExclusiveLock);
            if (*action.busy) return nullptr;
        } else if (!lock_within(tag, ShareUpdateExclusiveLock, kPatienceMs))
            report_pinned(psprintf("%s lock", action.verb), name, tag, ShareUpdateExclusiveLock);
        Lease *lease = find_grant(read_again(name, rows), token, action.want);
        if (lease != nullptr && lease->slot == seen->slot) return lease;
        unlock(tag, ShareUpdateExclusiveLock);
        if (lease == nullptr) return nullptr;
        // A downgrade has moved it to another slot meanwhile.
    }
}

// Why a token that is no current grant cannot be released.
const char *lost_because(std::span<Lease> rows, int64 token) {
    bool newer = false;
    if (token <= 0) return "not_held";
    for (const Lease &row : rows) {
        if (row.token == token && row.released) return is_buried(row) ? "superseded" : "not_held";
        newer |= row.token > token;
    }
    return newer ? "superseded" : "not_held";
}

// Moves the row's three stamps to this boot's clocks.
void restamp(Lease &lease, const Instant &now) {
    lease.acquired.boot = now.boot + until(lease.acquired, lease.renewed, lease.boot_id, now);
    lease.renewed = after(now, 0);
    lease.boot_id = now.boot_id;
}

int64 time_left(const Lease &lease, const Instant &now) {
    return until(lease.expires, lease.renewed, lease.boot_id, now);
}

void write(std::string_view name, const Lease &lease, txn::Write kind) {
    txn::before_write();
    remember(lease, update_lease(lease));
    txn::after_write(kind);
    txn::touch(name);
}

void write_release(std::string_view name, Lease &lease) {
    const Instant now = clock_now();
    const int64 hold = std::max<int64>(0, hold_for(lease, now));
    const int64 over = std::max<int64>(0, -time_left(lease, now));
    restamp(lease, now);
    lease.renewed = after(now, -over);  // since when it is over: a late release does not begin anew
    lease.expires = after(now, hold);
    lease.released = true;
    lease.released_at = now.wall;
    lease.request_id = nullptr;
    write(name, lease, txn::Write::kRelease);
    checks::drop(name);
    if (lease.session_pid != 0) unbind_from_session(name, lease.token);
}

// Nothing is to be written: the lock that was taken for it goes at once.
void keep_as_is(std::string_view name, const Lease &lease) {
    unlock(slot_tag(name, lease.slot), ShareUpdateExclusiveLock);
}

void log_force(std::string_view name, const Lease &lease) {
    Lease copy = lease;
    ereport(
        LOG,
        errmsg("distlock: role %s forces the release of lock \"%.*s\"",
               GetUserNameFromId(GetUserId(), false), static_cast<int>(name.size()), name.data()),
        errdetail_log("%s", lock_facts(name, {&copy, 1})));
}

}  // namespace

void check_holder(std::string_view name, const Lease &lease, const char *action) {
    if (is_member_of_role(pg::acting_role(), lease.role)) return;
    const char *holder = GetUserNameFromId(lease.role, true);
    ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied to %s lock \"%.*s\"", action, static_cast<int>(name.size()),
                   name.data()),
            errdetail("It was acquired by role %s, of which role %s is not a member.",
                      holder != nullptr ? holder : "(dropped)",
                      GetUserNameFromId(pg::acting_role(), false)),
            errhint("Use the role that acquired the lock, or a member of it."));
}

std::optional<TimestampTz> renew_lease(std::string_view name, int64 token, int64 ttl, bool durable,
                                       bool *busy) {
    Lease *lease = lock_grant(name, token, {"renew", Want::kLiving, false, busy});
    if (lease == nullptr) return std::nullopt;
    const Instant now = clock_now();
    const int64 left = time_left(*lease, now);
    restamp(*lease, now);
    lease->expires = after(now, ttl != 0 ? ttl : std::max(lease->ttl, left));
    write(name, *lease, durable ? txn::Write::kDurable : txn::Write::kUndurable);
    return lease->expires.wall;
}

const char *release_lease(std::string_view name, int64 token, bool forced) {
    Lease *lease = lock_grant(name, token, {"release", Want::kCurrent, forced});
    if (lease == nullptr) {
        unbind_from_session(name, token);  // whoever has it now, this session's binding is over
        return lost_because(read_lock(name), token);
    }
    const bool alive = state_of(*lease, clock_now()) == State::kHeld;
    if (forced) log_force(name, *lease);
    write_release(name, *lease);
    announce(forced ? Event::kForced : Event::kReleased, name, *lease);
    return alive ? "released" : "expired";
}

std::optional<TimestampTz> downgrade_lease(std::string_view name, int64 token) {
    Lease *lease = lock_grant(name, token, {"downgrade", Want::kLiving, false});
    if (lease == nullptr) return std::nullopt;
    if (lease->mode == Mode::kShared) return keep_as_is(name, *lease), lease->expires.wall;
    if (lease->mode == Mode::kPermit)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("cannot downgrade a permit of semaphore \"%.*s\"",
                       static_cast<int>(name.size()), name.data()),
                errdetail("Only an exclusive lock can become shared."),
                errhint("Release the permit instead."));
    // The move to a slot of its own lets others in: a pin or a row in slot 0 would keep them out.
    int32 slot = 1;
    while (!lock_now(slot_tag(name, slot), ExclusiveLock)) slot++;
    const std::span<Lease> rows = read_lock(name);
    const Lease *old = row_of_slot(rows, slot);
    Lease shared = *lease;
    shared.slot = slot;
    shared.mode = Mode::kShared;
    txn::before_write();
    if (old != nullptr) {
        shared.place = old->place;
        update_lease(shared);
    } else {
        insert_lease(shared);
    }
    lease->released = true;
    lease->released_at = clock_now().wall;
    lease->expires = lease->renewed;
    lease->session_pid = 0;
    lease->request_id = nullptr;
    write(name, *lease, txn::Write::kDurable);
    checks::drop(name);
    return shared.expires.wall;
}

std::optional<int64> raise_lease(std::string_view name, int64 token, int64 floor) {
    Lease *lease = lock_grant(name, token, {"raise the token of", Want::kLiving, false});
    if (lease == nullptr) return std::nullopt;
    if (lease->mode != Mode::kExclusive)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("cannot raise the token of a shared grant or a permit"),
                errdetail("Lock \"%.*s\" may have another holder with that token.",
                          static_cast<int>(name.size()), name.data()),
                errhint("Use exclusive locks over several servers."));
    if (floor <= token) return keep_as_is(name, *lease), token;
    if (lease->session_pid != 0 && lease->session_pid != MyProcPid)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("cannot raise the token of another session's session-bound grant"),
                errdetail("Lock \"%.*s\" is bound to the session of process %d.",
                          static_cast<int>(name.size()), name.data(), lease->session_pid),
                errhint("Raise it in that session."));
    (void)advance_token(
        floor);  // no later grant gets it; an earlier one of another lock may have it
    lease->token = floor;
    if (lease->session_pid != 0) {
        unbind_from_session(name, token);
        bind_to_session(name, lease->token);
    }
    write(name, *lease, txn::Write::kDurable);
    checks::drop(name);
    return lease->token;
}

}  // namespace distlock
