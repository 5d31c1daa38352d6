// guard.cpp - the cache of guards.  An entry is marked invalid before it is filled, so an error
// half way leaves nothing wrong behind, and whenever the relation cache says that its table
// changed.
#include "guard.hpp"

#include <cstring>

namespace distlock {
namespace {

constinit HTAB *guards = nullptr;
constinit Guard *latest = nullptr;  // the one asked for last: a bulk write asks for each row

void table_changed(Datum, Oid relation) {
    if (guards == nullptr) return;
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, guards);
    while (auto *guard = static_cast<Guard *>(hash_seq_search(&all)))
        if (relation == InvalidOid || guard->relation == relation) guard->valid = false;
}

HTAB *guard_table() {
    if (guards == nullptr) {
        HASHCTL control{};
        control.keysize = sizeof(Oid);
        control.entrysize = sizeof(Guard);
        guards = hash_create("distlock guards", 32, &control, HASH_ELEM | HASH_BLOBS);
    }
    return guards;
}

// Triggers that were dropped or whose table changed; no guard is in use when a new one is made.
void sweep() {
    latest = nullptr;
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, guards);
    while (auto *guard = static_cast<Guard *>(hash_seq_search(&all))) {
        if (guard->valid) continue;
        if (guard->context != nullptr) MemoryContextDelete(guard->context);
        (void)hash_search(guards, &guard->trigger, HASH_REMOVE, nullptr);
    }
}

void fill(Guard *guard, int count, char *const *arguments, Relation table) {
    if (count < 1 || count > 3)
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("trigger function fence_check takes one to three arguments"),
            errdetail("A trigger of table \"%s\" has %d.", RelationGetRelationName(table), count),
            errhint("They are: lock template, mode, token column. Use distlock.protect."));
    guard->lock = parse_template(arguments[0], table);
    guard->mode = count > 1 ? parse_fence_mode(arguments[1]) : FenceMode::kLive;
    guard->token_column = 0;
    if (count > 2 && arguments[2][0] != '\0') {
        guard->token_column = find_column(table, arguments[2], "a fence trigger");
        check_token_column(table, guard->token_column);
    }
    if (guard->mode == FenceMode::kRow && guard->token_column == 0)
        ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                errmsg("mode \"row\" needs a token column"),
                errdetail("The row itself remembers its token there."),
                errhint("Name a bigint column as token_column."));
}

}  // namespace

FenceMode parse_fence_mode(const char *text) {
    if (std::strcmp(text, "live") == 0) return FenceMode::kLive;
    if (std::strcmp(text, "live_strict") == 0) return FenceMode::kLiveStrict;
    if (std::strcmp(text, "high_water") == 0) return FenceMode::kHighWater;
    if (std::strcmp(text, "row") == 0) return FenceMode::kRow;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("unrecognized fence mode \"%s\"", text),
            errdetail("Modes are \"live\", \"live_strict\", \"high_water\" and \"row\"."),
            errhint("Use \"live\" unless you have a reason not to."));
    pg_unreachable();
}

void check_token_column(Relation table, AttrNumber column) {
    const Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(table), column - 1);
    const char *what = nullptr;
    if (attribute->atttypid != INT8OID)
        what = "Its type must be bigint.";
    else if (attribute->attgenerated != '\0' || attribute->attidentity != '\0')
        what = "It must not be a generated or identity column.";
    else if (attribute->atthasdef)
        what = "It must not have a default: a token comes from the caller or not at all.";
    else if (attribute->attnotnull)
        what = "It must be nullable: the fence stores NULL once it has checked the token.";
    if (what == nullptr) return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("column \"%s\" of table \"%s\" cannot carry fencing tokens",
                   NameStr(attribute->attname), RelationGetRelationName(table)),
            errdetail("%s", what),
            errhint("ALTER TABLE ... ADD COLUMN fence bigint gives a fitting one."),
            errtable(table));
}

Guard *find_guard(const Trigger *trigger, Relation table) {
    if (latest != nullptr && latest->trigger == trigger->tgoid && latest->valid) return latest;
    HTAB *all = guard_table();
    auto *guard = static_cast<Guard *>(hash_search(all, &trigger->tgoid, HASH_FIND, nullptr));
    if (guard != nullptr && guard->valid) return latest = guard;
    sweep();
    bool found = false;
    guard = static_cast<Guard *>(hash_search(all, &trigger->tgoid, HASH_ENTER, &found));
    const Oid key = guard->trigger;
    *guard = {};
    guard->trigger = key;
    guard->relation = RelationGetRelid(table);
    guard->context =
        AllocSetContextCreate(CacheMemoryContext, "distlock guard", ALLOCSET_SMALL_SIZES);
    const MemoryContext before = MemoryContextSwitchTo(guard->context);
    fill(guard, trigger->tgnargs, trigger->tgargs, table);
    initStringInfo(&guard->name);
    initStringInfo(&guard->other_name);
    MemoryContextSwitchTo(before);
    guard->valid = true;
    return guard;
}

const char *find_fault(Oid oid, int count, char *const *arguments) {
    const char *message = nullptr;
    (void)pg::in_subtransaction(
        [&] {
            Guard guard{};
            Relation table = relation_open(oid, AccessShareLock);
            fill(&guard, count, arguments, table);
            relation_close(table, AccessShareLock);
            return true;
        },
        ERRCODE_INVALID_PARAMETER_VALUE, &message);
    return message;
}

void watch_tables() { CacheRegisterRelcacheCallback(table_changed, 0); }

}  // namespace distlock
