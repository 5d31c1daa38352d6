// prefix.cpp - see prefix.hpp.  The grants are few and read often: each backend keeps them until
// one of them changes, which is told through the relation cache.
#include "prefix.hpp"

#include "arguments.hpp"
#include "catalog.hpp"
#include "rows.hpp"

extern "C" {
#include "commands/extension.h"
}

namespace distlock {
namespace {

enum Column { kPrefix, kRole, kColumns };

struct Grant {
    std::string_view prefix;
    Oid role;
    Grant *next;
};

constinit Grant *grants = nullptr;
constinit bool loaded = false;
constinit uint64 changes = 0;
constinit MemoryContext cache = nullptr;

Table prefix_table() {
    const catalog::Oids &oids = catalog::oids();
    return {oids.prefix_grant, &oids.prefix_grant_key};
}

void changed(Datum, Oid relation) {
    if (relation != InvalidOid && relation != catalog::known_prefix_grant()) return;
    loaded = false;
    changes++;
}

void keep(TupleTableSlot *slot) {
    bool null = false;
    const auto prefix = pg::from_datum<std::string_view>(slot_getattr(slot, kPrefix + 1, &null));
    const MemoryContext before = MemoryContextSwitchTo(cache);
    auto *grant = static_cast<Grant *>(palloc(sizeof(Grant)));
    *grant = {{pnstrdup(prefix.data(), prefix.size()), prefix.size()},
              DatumGetObjectId(slot_getattr(slot, kRole + 1, &null)),
              grants};
    grants = grant;
    MemoryContextSwitchTo(before);
}

void load() {
    if (cache == nullptr)
        cache =
            AllocSetContextCreate(CacheMemoryContext, "distlock prefixes", ALLOCSET_SMALL_SIZES);
    MemoryContextReset(cache);
    grants = nullptr;
    const Table table = prefix_table();
    const uint64 before = changes;
    keep_table_locks(false);  // the caller may go to sleep afterwards
    pg::with_fresh_snapshot([&](Snapshot fresh) {
        scan_versions(table, {}, fresh, [](TupleTableSlot *slot) {
            keep(slot);
            return true;
        });
        return true;
    });
    // Not before: an error in the scan must leave nothing that counts as the whole list.
    loaded = before == changes;
    keep_table_locks(true);
}

bool find_grant(std::string_view prefix, Oid role, ItemPointerData *tid) {
    ScanKeyData keys[] = {text_key(1, prefix), oid_key(2, role)};
    Datum values[kColumns];
    bool nulls[kColumns];
    const HeapTuple tuple = find_row(prefix_table(), keys, values, nulls);
    if (tuple != nullptr) *tid = tuple->t_self;
    return tuple != nullptr;
}

// One grant or revoke at a time.
void lock_table() {
    Relation table = table_open(prefix_table().table, ShareRowExclusiveLock);
    table_close(table, NoLock);
}

std::string_view prefix_argument(FunctionCallInfo fcinfo) {
    const auto prefix = pg::arg<std::string_view>(fcinfo, 0);
    if (!prefix) report_null("prefix");
    if (fcinfo->args[1].isnull) report_null("role");
    if (!prefix->empty()) check_name(*prefix);
    return *prefix;
}

}  // namespace

void check_prefix(std::string_view name) {
    AcceptInvalidationMessages();  // a grant that has committed counts at once, in any transaction
    if (!loaded) load();
    const Grant *covering = nullptr;
    for (const Grant *grant = grants; grant != nullptr; grant = grant->next) {
        if (!name.starts_with(grant->prefix)) continue;
        if (is_member_of_role(pg::acting_role(), grant->role)) return;
        covering = grant;
    }
    if (covering == nullptr) return;
    const char *role = GetUserNameFromId(covering->role, true);
    ereport(
        ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
        errmsg("permission denied for lock \"%.*s\"", static_cast<int>(name.size()), name.data()),
        errdetail("Names that begin with \"%.*s\" are kept to role %s, of which role %s is not "
                  "a member.",
                  static_cast<int>(covering->prefix.size()), covering->prefix.data(),
                  role != nullptr ? role : "(dropped)",
                  GetUserNameFromId(pg::acting_role(), false)),
        errhint("Ask for distlock.grant_prefix, or use another name."));
}

void watch_prefixes() { CacheRegisterRelcacheCallback(changed, 0); }

}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_grant_prefix) {
    const std::string_view prefix = prefix_argument(fcinfo);
    const Oid role = DatumGetObjectId(fcinfo->args[1].value);
    check_writable("grant_prefix");
    (void)GetUserNameFromId(role, false);  // error when there is no such role
    lock_table();
    ItemPointerData tid;
    if (find_grant(prefix, role, &tid)) return BoolGetDatum(false);
    Datum values[kColumns] = {pg::text_datum(prefix), ObjectIdGetDatum(role)};
    bool nulls[kColumns] = {};
    write_row(prefix_table(), values, nulls, nullptr);
    CacheInvalidateRelcacheByRelid(prefix_table().table);
    return BoolGetDatum(true);
}

DISTLOCK_FUNCTION(distlock_revoke_prefix) {
    const std::string_view prefix = prefix_argument(fcinfo);
    const Oid role = DatumGetObjectId(fcinfo->args[1].value);
    check_writable("revoke_prefix");
    lock_table();
    ItemPointerData tid;
    if (!find_grant(prefix, role, &tid)) return BoolGetDatum(false);
    (void)delete_row(prefix_table(), tid);
    CommandCounterIncrement();
    CacheInvalidateRelcacheByRelid(prefix_table().table);
    return BoolGetDatum(true);
}
