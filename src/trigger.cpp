// trigger.cpp - fence_check: a BEFORE trigger that refuses writes under a stale token.
//
// In the live modes the token column carries, it does not keep: what stands there is checked and
// stored as NULL, since a token left in the row would be read and written back by whoever comes
// next.  A token that passed counts as fence() for the rest of the transaction.
#include "check.hpp"
#include "errors.hpp"
#include "fence.hpp"
#include "guard.hpp"
#include "mark.hpp"

extern "C" {
#include "nodes/bitmapset.h"
#include "replication/logicalworker.h"
}

namespace distlock {
namespace {

struct Write {
    const TriggerData *data;
    Guard *guard;
    TupleTableSlot *before;  // null for INSERT
    TupleTableSlot *after;   // null for DELETE
    Site site;
};

std::string_view view(const StringInfoData &s) { return {s.data, static_cast<std::size_t>(s.len)}; }

bool strict(const Guard &guard) { return guard.mode == FenceMode::kLiveStrict; }

checks::Realm realm(const Guard &guard) {
    return guard.mode == FenceMode::kHighWater ? checks::Realm::kResource : checks::Realm::kLock;
}

// The check itself, live or against the high-water mark.
void check_token(const Guard &guard, std::string_view name, int64 token, const Site &site) {
    if (guard.mode == FenceMode::kHighWater)
        pass_mark(name, token, site);
    else
        fence(name, token, strict(guard), site);
}

bool may_pass(const Guard &guard, std::string_view name, int64 token) {
    return guard.mode == FenceMode::kHighWater ? reaches_mark(name, token)
                                               : is_current(name, token, strict(guard));
}

[[noreturn]] void report_no_token(std::string_view name, const Guard &guard, const Site &site) {
    ereport(
        ERROR, errcode(kNoToken),
        errmsg("write to table \"%s\" carries no fencing token",
               RelationGetRelationName(site.table)),
        errdetail("It needs a token of lock \"%.*s\".", static_cast<int>(name.size()), name.data()),
        errhint("Call distlock.fence(lock, token) in the same transaction as the write%s.",
                guard.token_column == 0 ? "" : ", or give the token in the token column"),
        err_site(site));
    pg_unreachable();
}

// The token that the row brings in its token column.
std::optional<int64> carried(const Guard &guard, TupleTableSlot *slot) {
    if (guard.token_column == 0 || slot == nullptr) return std::nullopt;
    bool null = false;
    const Datum token = slot_getattr(slot, guard.token_column, &null);
    return null ? std::nullopt : std::optional<int64>(DatumGetInt64(token));
}

void require(Guard &guard, std::string_view name, std::optional<int64> token, const Site &site) {
    // The usual case of a bulk write: the same lock as the row before, nothing has changed since.
    const bool again = guard.generation == checks::generation() && guard.checked == name &&
                       (!token || *token == guard.token);
    if (again && !strict(guard)) return;
    if (!token) {
        const checks::Check *check = checks::find(name, realm(guard));
        if (check == nullptr) report_no_token(name, guard, site);
        token = check->token;
    }
    check_token(guard, name, *token, site);
    const checks::Check *check = checks::find(name, realm(guard));
    guard.generation = checks::generation();
    guard.checked = check->name;
    guard.token = *token;
}

// A row that moves from one lock to another is a write under both.  Its token counts for whichever
// lock it is current for; the other must have been fenced before.
void require_both(Guard &guard, std::optional<int64> token, const Site &site) {
    const std::string_view names[] = {view(guard.name), view(guard.other_name)};
    bool counts[2] = {};
    for (int i = 0; token && i < 2; i++) counts[i] = may_pass(guard, names[i], *token);
    for (int i = 0; i < 2; i++) {
        const bool stale = token && !counts[0] && !counts[1];
        require(guard, names[i], counts[i] || stale ? token : std::nullopt, site);
    }
}

void check_live(const Write &write, std::optional<int64> token) {
    Guard &guard = *write.guard;
    TupleTableSlot *row = write.after != nullptr ? write.after : write.before;
    if (guard.lock.constant) {
        const Piece &name = guard.lock.pieces[0];
        require(guard, name.literal, token, write.site);
        return;
    }
    render(guard.lock, write.site.table, row, &guard.name);
    if (write.before != nullptr && write.after != nullptr &&
        !same_lock(guard.lock, write.before, write.after)) {
        render(guard.lock, write.site.table, write.before, &guard.other_name);
        if (view(guard.name) != view(guard.other_name)) {
            require_both(guard, token, write.site);
            return;
        }
    }
    require(guard, view(guard.name), token, write.site);
}

bool names_token_column(const Write &write) {
    return bms_is_member(write.guard->token_column - FirstLowInvalidHeapAttributeNumber,
                         write.data->tg_updatedcols);
}

// A token that stood in the row already is nobody's: it came with an attached partition, or past
// the trigger.  An UPDATE that does not name the column must not present it.
std::optional<int64> presented(const Write &write, std::optional<int64> token) {
    if (!token || write.before == nullptr || names_token_column(write)) return token;
    return carried(*write.guard, write.before) == token ? std::nullopt : token;
}

HeapTuple without_token(const Write &write, HeapTuple tuple) {
    int column = write.guard->token_column;
    Datum value = 0;
    bool null = true;
    return heap_modify_tuple_by_cols(tuple, RelationGetDescr(write.site.table), 1, &column, &value,
                                     &null);
}

// Mode "row": the row remembers the highest token it was written under.
void check_row_memory(const Write &write) {
    const Guard &guard = *write.guard;
    if (write.after == nullptr) return;
    const std::optional<int64> token = carried(guard, write.after);
    const std::optional<int64> last = carried(guard, write.before);
    const char *column =
        NameStr(TupleDescAttr(RelationGetDescr(write.site.table), guard.token_column - 1)->attname);
    const bool named = write.before == nullptr || names_token_column(write);
    if (!token || !named)
        ereport(ERROR, errcode(kNoToken),
                errmsg("write to table \"%s\" carries no fencing token",
                       RelationGetRelationName(write.site.table)),
                errdetail("It does not set column \"%s\", where the row keeps its token.", column),
                errhint("Set that column to the writer's token in every INSERT and UPDATE."),
                err_site(write.site));
    if (last && *token < *last)
        ereport(ERROR, errcode(kStaleToken),
                errmsg("stale fencing token " INT64_FORMAT " for a row of table \"%s\"", *token,
                       RelationGetRelationName(write.site.table)),
                errdetail("The row was last written under token " INT64_FORMAT ".", *last),
                errhint("This caller lost the lock. Throw its work away: acquire the lock again "
                        "and start from a fresh read."),
                err_site(write.site));
}

void check_truncate(const TriggerData *data) {
    Guard &guard = *find_guard(data->tg_trigger, data->tg_relation);
    const Site site{data->tg_relation, data->tg_trigger->tgname};
    if (guard.mode == FenceMode::kRow) return;
    if (guard.lock.constant) {
        require(guard, guard.lock.pieces[0].literal, std::nullopt, site);
        return;
    }
    ereport(ERROR, errcode(kNoToken),
            errmsg("cannot truncate table \"%s\", which has a lock for each row",
                   RelationGetRelationName(site.table)),
            errdetail("TRUNCATE carries no token for the lock of each row (template \"%s\").",
                      data->tg_trigger->tgargs[0]),
            errhint("Use DELETE under the locks, or distlock.unprotect first."), err_site(site));
}

HeapTuple check_row(const TriggerData *data) {
    const bool update = TRIGGER_FIRED_BY_UPDATE(data->tg_event);
    const bool insert = TRIGGER_FIRED_BY_INSERT(data->tg_event);
    HeapTuple result = update ? data->tg_newtuple : data->tg_trigtuple;
    const Write write{data,
                      find_guard(data->tg_trigger, data->tg_relation),
                      insert ? nullptr : data->tg_trigslot,
                      update ? data->tg_newslot : (insert ? data->tg_trigslot : nullptr),
                      {data->tg_relation, data->tg_trigger->tgname}};
    if (write.guard->mode == FenceMode::kRow) {
        check_row_memory(write);
        return result;
    }
    const std::optional<int64> token = carried(*write.guard, write.after);
    check_live(write, presented(write, token));
    return token ? without_token(write, result) : result;
}

void check_context(FunctionCallInfo fcinfo) {
    const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
    const bool trigger = CALLED_AS_TRIGGER(fcinfo);
    const bool fits =
        trigger && TRIGGER_FIRED_BEFORE(data->tg_event) &&
        (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event) || TRIGGER_FIRED_FOR_ROW(data->tg_event));
    if (fits) return;
    ereport(ERROR, errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
            errmsg("fence_check must be fired BEFORE each row, or BEFORE TRUNCATE"),
            errdetail("A later check could not keep the write from happening."),
            errhint("Use distlock.protect to create the triggers."));
}

}  // namespace
}  // namespace distlock

DISTLOCK_FUNCTION(distlock_fence_check) {
    using namespace distlock;
    check_context(fcinfo);
    const auto *data = reinterpret_cast<const TriggerData *>(fcinfo->context);
    if (TRIGGER_FIRED_BY_TRUNCATE(data->tg_event)) {
        if (!IsLogicalWorker()) check_truncate(data);
        return PointerGetDatum(nullptr);
    }
    if (IsLogicalWorker())  // an ENABLE ALWAYS trigger: the origin has checked this row
        return PointerGetDatum(TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple
                                                                       : data->tg_trigtuple);
    return PointerGetDatum(check_row(data));
}

// On our own tables, ENABLE REPLICA: rows from a publisher are somebody else's locks.
DISTLOCK_FUNCTION(distlock_ignore_replicated) { return PointerGetDatum(nullptr); }
