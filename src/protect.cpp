// protect.cpp - protect and unprotect: creating and dropping the fence triggers of a table.
//
// The names begin with "~", which sorts after every letter: BEFORE triggers run in name order, and
// none of the table's own should change the row after it was checked.
#include <cstring>

#include "guard.hpp"

extern "C" {
#include "catalog/catalog.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
}

namespace distlock {
namespace {

constexpr const char *kRowTrigger = "~distlock_fence";
constexpr const char *kTruncateTrigger = "~distlock_fence_truncate";

struct Protection {
    const char *lock;
    const char *mode;
    const char *token_column;  // "" = none
    bool always;
};

const char *quoted(Relation table) {
    return quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
                                      RelationGetRelationName(table));
}

void run(const char *command) {
    const int result = SPI_execute(command, false, 0);
    if (result < 0) elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
}

// Whether the query finds a row.  An error rather than an answer when row security hides some.
bool finds(const char *query) {
    const int level = NewGUCNestLevel();
    (void)set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                            true, 0, false);
    // The table is locked: what its last writer committed must be seen.
    PushActiveSnapshot(GetLatestSnapshot());
    const int result = SPI_execute(query, true, 1);
    PopActiveSnapshot();
    AtEOXact_GUC(true, level);
    if (result < 0) elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(result));
    return SPI_processed > 0;
}

void report_table(Relation table, const char *what, const char *hint) {
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("cannot protect \"%s\"", RelationGetRelationName(table)), errdetail("%s", what),
            errhint("%s", hint), errtable(table));
}

// Before the table is locked: nobody shall stop the writers of a table that is not theirs.
void check_owner(Oid oid) {
    if (get_rel_relkind(oid) == '\0')
        ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
                errmsg("there is no table with object id %u", oid),
                errdetail("It may have been dropped."), errhint("Name the table."));
    if (compat::owns_relation(oid, GetUserId())) return;
    ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
            errmsg("must be owner of table \"%s\"", get_rel_name(oid)),
            errdetail("Protecting a table creates triggers on it."),
            errhint("Run this as the table's owner."));
}

void check_table(Relation table) {
    const char relkind = table->rd_rel->relkind;
    if (relkind != RELKIND_RELATION && relkind != RELKIND_PARTITIONED_TABLE)
        report_table(table, "Only ordinary and partitioned tables can be protected.",
                     "Protect the tables in which its rows are stored.");
    if (IsSystemRelation(table) ||
        RelationGetNamespace(table) == get_namespace_oid("distlock", false))
        report_table(table, "It belongs to the server or to distlock itself.",
                     "Protect tables of your application.");
}

void check_token_rows(Relation table, const char *column, bool keeps) {
    if (keeps) return;  // mode "row" keeps tokens in the rows
    if (!finds(psprintf("SELECT 1 FROM %s WHERE %s IS NOT NULL LIMIT 1", quoted(table),
                        quote_identifier(column))))
        return;
    report_table(table,
                 psprintf("Column \"%s\" is not NULL in some rows; each UPDATE would present that "
                          "old value as its token.",
                          column),
                 "Set the column to NULL in all rows first.");
}

void check_protection(Relation table, const Protection &wanted) {
    const Template lock = parse_template(wanted.lock, table);
    if (lock.constant && lock.count == 0) check_name({});
    const FenceMode mode = parse_fence_mode(wanted.mode);
    if (wanted.token_column[0] == '\0') {
        if (mode == FenceMode::kRow)
            report_table(table, "Mode \"row\" keeps the token in the row.",
                         "Name a bigint column as token_column.");
        return;
    }
    check_token_column(table, find_column(table, wanted.token_column, "token_column"));
    check_token_rows(table, wanted.token_column, mode == FenceMode::kRow);
}

// Whether a trigger of the table has just these arguments and this firing mode.
bool trigger_matches(const Trigger &trigger, const Protection &wanted) {
    const char *arguments[] = {wanted.lock, wanted.mode, wanted.token_column};
    if (trigger.tgnargs != 3) return false;
    for (int i = 0; i < 3; i++)
        if (std::strcmp(trigger.tgargs[i], arguments[i]) != 0) return false;
    return trigger.tgenabled == (wanted.always ? TRIGGER_FIRES_ALWAYS : TRIGGER_FIRES_ON_ORIGIN);
}

const Trigger *find_trigger(Relation table, const char *name) {
    const TriggerDesc *all = table->trigdesc;
    for (int i = 0; all != nullptr && i < all->numtriggers; i++)
        if (std::strcmp(all->triggers[i].tgname, name) == 0) return &all->triggers[i];
    return nullptr;
}

enum class Change { kNone, kCreated, kReplaced };

// Brings one trigger into the wanted form.  The table is locked already; it must not be open while
// ALTER TABLE runs.
Change put_trigger(Oid oid, const char *name, const char *event, const Protection &wanted) {
    const char *trigger = quote_identifier(name);
    Relation table = table_open(oid, NoLock);
    const Trigger *existing = find_trigger(table, name);
    const bool replaced = existing != nullptr;
    const bool matches = replaced && trigger_matches(*existing, wanted);
    const char *on = quoted(table);
    table_close(table, NoLock);
    if (matches) return Change::kNone;
    if (replaced) run(psprintf("DROP TRIGGER %s ON %s", trigger, on));
    run(psprintf("CREATE TRIGGER %s BEFORE %s EXECUTE FUNCTION distlock.fence_check(%s, %s, %s)",
                 trigger, psprintf(event, on), quote_literal_cstr(wanted.lock),
                 quote_literal_cstr(wanted.mode), quote_literal_cstr(wanted.token_column)));
    if (wanted.always) run(psprintf("ALTER TABLE %s ENABLE ALWAYS TRIGGER %s", on, trigger));
    return replaced ? Change::kReplaced : Change::kCreated;
}

bool is_table(Oid oid) {
    const char relkind = get_rel_relkind(oid);
    return relkind == RELKIND_RELATION || relkind == RELKIND_PARTITIONED_TABLE;
}

// TRUNCATE triggers are not cloned to partitions: each one gets its own.
List *truncate_targets(Oid oid) {
    return get_rel_relkind(oid) == RELKIND_PARTITIONED_TABLE
               ? find_all_inheritors(oid, ShareRowExclusiveLock, nullptr)
               : list_make1_oid(oid);
}

Change put_truncate_triggers(Oid oid, const Protection &wanted) {
    List *tables = truncate_targets(oid);
    Change change = Change::kNone;
    for (int i = 0; i < list_length(tables); i++) {
        if (!is_table(list_nth_oid(tables, i))) continue;
        const Change one = put_trigger(list_nth_oid(tables, i), kTruncateTrigger,
                                       "TRUNCATE ON %s FOR EACH STATEMENT", wanted);
        if (one != Change::kNone) change = Change::kReplaced;
    }
    return change;
}

void refuse_clone(Relation table) {
    const Trigger *existing = find_trigger(table, kRowTrigger);
    if (existing != nullptr && existing->tgisclone)
        report_table(table, "It is a partition of a table that is protected already.",
                     "Protect or unprotect the partitioned table.");
}

// Refuses what cannot be protected; whether there is a row trigger of ours already.
bool check_protectable(Oid oid, const Protection &wanted) {
    check_owner(oid);
    Relation table = relation_open(oid, ShareRowExclusiveLock);
    check_owner(oid);
    check_table(table);
    check_protection(table, wanted);
    refuse_clone(table);
    const bool exists = find_trigger(table, kRowTrigger) != nullptr;
    relation_close(table, NoLock);
    return exists;
}

const char *protect(Oid oid, const Protection &wanted) {
    SPI_connect();
    const bool before = check_protectable(oid, wanted);
    const Change rows =
        put_trigger(oid, kRowTrigger, "INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW", wanted);
    const Change truncate = put_truncate_triggers(oid, wanted);
    SPI_finish();
    if (!before) return "created";
    return rows == Change::kNone && truncate == Change::kNone ? "unchanged" : "replaced";
}

bool drop_trigger(Oid oid, const char *name) {
    Relation table = relation_open(oid, ShareRowExclusiveLock);
    const Trigger *existing = find_trigger(table, name);
    const bool ours = existing != nullptr && !existing->tgisclone;
    const char *on = quoted(table);
    relation_close(table, NoLock);
    if (ours) run(psprintf("DROP TRIGGER %s ON %s", quote_identifier(name), on));
    return ours;
}

bool unprotect(Oid oid) {
    check_owner(oid);
    Relation table = relation_open(oid, ShareRowExclusiveLock);
    refuse_clone(table);
    relation_close(table, NoLock);
    SPI_connect();
    bool dropped = drop_trigger(oid, kRowTrigger);
    List *tables = truncate_targets(oid);
    for (int i = 0; i < list_length(tables); i++)
        dropped |= drop_trigger(list_nth_oid(tables, i), kTruncateTrigger);
    SPI_finish();
    return dropped;
}

void require_argument(FunctionCallInfo fcinfo, int i, const char *name) {
    if (!fcinfo->args[i].isnull) return;
    ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", name),
            errdetail("It says what is to be protected."),
            errhint("See the comment on distlock.protect."));
}

const char *text_argument(FunctionCallInfo fcinfo, int i, const char *when_null) {
    const auto text = pg::arg<std::string_view>(fcinfo, i);
    return text ? pg::c_string(*text) : when_null;
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_protect) {
    require_argument(fcinfo, 0, "rel");
    require_argument(fcinfo, 1, "lock");
    const Protection wanted{text_argument(fcinfo, 1, ""), text_argument(fcinfo, 2, "live"),
                            text_argument(fcinfo, 3, ""), pg::arg<bool>(fcinfo, 4).value_or(false)};
    return pg::text_datum(protect(DatumGetObjectId(fcinfo->args[0].value), wanted));
}

DISTLOCK_FUNCTION(distlock_unprotect) {
    require_argument(fcinfo, 0, "rel");
    return BoolGetDatum(unprotect(DatumGetObjectId(fcinfo->args[0].value)));
}
