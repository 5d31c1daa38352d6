// renew.cpp - see renew.hpp.
#include "renew.hpp"

#include <algorithm>

#include "report.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

Lease *living_grant(std::span<Lease> rows, int64 token) {
    Lease *lease = current_grant(rows, token);
    return lease != nullptr && state_of(*lease, clock_now()) == State::kHeld ? lease : nullptr;
}

// Why a token that is no current grant cannot be released.
const char *lost_because(std::span<Lease> rows, int64 token) {
    for (const Lease &row : rows)
        if (row.token > token) return "superseded";
    return "not_held";
}

// Microseconds of its minimum hold that a lease still has to stay.
int64 hold_left(const Lease &lease, const Instant &now) {
    const Stamp end{lease.acquired.wall + lease.min_hold, lease.acquired.boot + lease.min_hold};
    return std::max<int64>(0, until(end, lease.renewed, lease.boot_id, now));
}

void write_release(std::string_view name, Lease &lease) {
    const Instant now = clock_now();
    lease.expires = after(now, hold_left(lease, now));
    lease.renewed = after(now, 0);
    lease.boot_id = now.boot_id;
    lease.released = true;
    lease.released_at = now.wall;
    lease.request_id = nullptr;
    txn::before_write();
    update_lease(lease);
    txn::after_write(txn::Write::kRelease);
    txn::touch(name);
    txn::drop_check(name);
}

TimestampTz write_renewal(std::string_view name, Lease &lease, int64 ttl, bool durable) {
    const Instant now = clock_now();
    const int64 left = until(lease.expires, lease.renewed, lease.boot_id, now);
    lease.expires = after(now, ttl != 0 ? ttl : std::max(lease.ttl, left));
    // All three stamps belong to the boot that wrote the row last.
    lease.acquired.boot = now.boot + until(lease.acquired, lease.renewed, lease.boot_id, now);
    lease.renewed = after(now, 0);
    lease.boot_id = now.boot_id;
    txn::before_write();
    update_lease(lease);
    txn::after_write(durable ? txn::Write::kDurable : txn::Write::kUndurable);
    txn::touch(name);
    return lease.expires.wall;
}

}  // namespace

void check_holder(std::string_view name, const Lease &lease, const char *action) {
    if (is_member_of_role(GetOuterUserId(), lease.role)) return;
    const char *holder = GetUserNameFromId(lease.role, true);
    ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("permission denied to %s lock \"%.*s\"", action, static_cast<int>(name.size()),
                   name.data()),
            errdetail("It was acquired by role %s, of which role %s is not a member.",
                      holder != nullptr ? holder : "(dropped)",
                      GetUserNameFromId(GetOuterUserId(), false)),
            errhint("Use the role that acquired the lock, or a member of it."));
}

std::optional<TimestampTz> renew_lease(std::string_view name, int64 token, int64 ttl,
                                       bool durable) {
    const Lease *seen = living_grant(read_lock(name), token);
    if (seen == nullptr) return std::nullopt;
    check_holder(name, *seen, "renew");
    const LOCKTAG tag = slot_tag(name, seen->slot);
    if (!lock_within(tag, ShareUpdateExclusiveLock, kPatienceMs))
        report_pinned("renew", name, tag, ShareUpdateExclusiveLock);
    Lease *lease = living_grant(read_lock(name), token);
    if (lease == nullptr) {
        unlock(tag, ShareUpdateExclusiveLock);
        return std::nullopt;
    }
    return write_renewal(name, *lease, ttl, durable);
}

const char *release_lease(std::string_view name, int64 token, bool forced) {
    std::span<Lease> rows = read_lock(name);
    const Lease *seen = current_grant(rows, token);
    if (seen == nullptr) return lost_because(rows, token);
    if (!forced) check_holder(name, *seen, "release");
    const LOCKTAG tag = slot_tag(name, seen->slot);
    if (!lock_within(tag, ShareUpdateExclusiveLock, kPatienceMs))
        report_pinned("release", name, tag, ShareUpdateExclusiveLock);
    rows = read_lock(name);
    Lease *lease = current_grant(rows, token);
    if (lease == nullptr) {
        unlock(tag, ShareUpdateExclusiveLock);
        return lost_because(rows, token);
    }
    if (forced)
        ereport(LOG,
                errmsg("distlock: role %s forces the release of lock \"%.*s\"",
                       GetUserNameFromId(GetUserId(), false), static_cast<int>(name.size()),
                       name.data()),
                errdetail_log("%s", lock_facts(name, rows)));
    const bool alive = state_of(*lease, clock_now()) == State::kHeld;
    write_release(name, *lease);
    return alive ? "released" : "expired";
}

}  // namespace distlock
