// fence.cpp - see fence.hpp.
#include "fence.hpp"

#include "check.hpp"
#include "errors.hpp"
#include "memo.hpp"
#include "renew.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "tag.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

bool too_old(const Lease &lease, bool strict) {
    const int64 over = over_for(lease, clock_now());
    return strict ? over >= 0 : over > tolerated_us();
}

Lease *acceptable(std::span<Lease> rows, int64 token, bool strict) {
    Lease *lease = current_grant(rows, token);
    return lease != nullptr && !too_old(*lease, strict) ? lease : nullptr;
}

void report_stale(std::string_view name, std::span<Lease> rows, int64 token, const Site &site) {
    const bool current = current_grant(rows, token) != nullptr;
    ereport(ERROR, errcode(kStaleToken),
            errmsg("stale fencing token " INT64_FORMAT " for lock \"%.*s\"", token,
                   static_cast<int>(name.size()), name.data()),
            errdetail("%s", lock_facts(name, rows)),
            current ? errhint("The lease ended too long ago for this write. Acquire the lock again "
                              "and redo the work from a fresh read.")
                    : errhint("This caller lost the lock. Throw its work away: acquire the lock "
                              "again and start from a fresh read."),
            err_site(site));
}

// Pins the lock for its holder's write and reads the grant under that pin.
const Lease *pin_grant(std::string_view name, int64 token, bool strict, const Site &site) {
    if (const Lease *own = lock_remembered(name, token, RowExclusiveLock, "write under"))
        return own;
    Reading rows = read_lock(name);
    const Lease *seen = acceptable(rows, token, strict);
    if (seen == nullptr) report_stale(name, rows, token, site);
    check_holder(name, *seen, "write under");
    const LOCKTAG tag = slot_tag(name, seen->slot);
    const LOCKMODE mode = seen->slot == 0 ? RowExclusiveLock : RowShareLock;
    if (!lock_within(tag, mode, kPatienceMs)) report_pinned("write under lock", name, tag, mode);
    rows = read_again(name, rows);
    const Lease *lease = acceptable(rows, token, strict);
    if (lease == nullptr) report_stale(name, rows, token, site);
    return lease;
}

// A renewal may have shortened the lease meanwhile: looked at again in each command.
bool still_strict(const checks::Check &check) {
    return check.command == GetCurrentCommandId(false) && clock_now().boot < check.expires_boot;
}

}  // namespace

int err_site(const Site &site) {
    if (site.table != nullptr) {
        err_generic_string(PG_DIAG_SCHEMA_NAME,
                           get_namespace_name(RelationGetNamespace(site.table)));
        err_generic_string(PG_DIAG_TABLE_NAME, RelationGetRelationName(site.table));
    }
    if (site.trigger != nullptr) err_generic_string(PG_DIAG_CONSTRAINT_NAME, site.trigger);
    return 0;
}

int64 tolerated_us() {
    const int evict = settings::evict_after();
    return int64{evict >= 0 ? evict : settings::retention()} * 1000;
}

bool is_current(std::string_view name, int64 token, bool strict) {
    return acceptable(read_lock(name), token, strict) != nullptr;
}

void fence(std::string_view name, int64 token, bool strict, const Site &site) {
    const checks::Check *standing = checks::find(name);
    if (standing != nullptr && standing->token == token && (!strict || still_strict(*standing)))
        return;
    const Lease *lease = pin_grant(name, token, strict, site);
    const Instant now = clock_now();
    const int64 left = until(lease->expires, lease->renewed, lease->boot_id, now);
    txn::touch(name);
    checks::add(name, token, now.boot + left);
}

}  // namespace distlock
