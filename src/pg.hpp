// pg.hpp - the one door between our C++ and the backend.
//
// An error leaves by longjmp and runs no destructor, so whatever lives on a frame that calls the
// backend is trivially destructible (`Plain`), memory is palloc'd, and what must be closed is
// closed by a scope function; on an error transaction abort closes it.
#pragma once
extern "C" {
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
}
#include <optional>
#include <string_view>
#include <type_traits>

#include "compat.hpp"

namespace distlock::pg {

// What a frame may hold.
template <class T>
concept Plain = std::is_trivially_destructible_v<T>;

// SQL value to C++ value; one line for each type we accept.
template <class T>
T from_datum(Datum) = delete;
template <>
inline bool from_datum(Datum d) {
    return DatumGetBool(d);
}
template <>
inline int32 from_datum(Datum d) {
    return DatumGetInt32(d);
}
template <>
inline int64 from_datum(Datum d) {
    return DatumGetInt64(d);
}
template <>
inline Oid from_datum(Datum d) {
    return DatumGetObjectId(d);
}
template <>
inline const Interval *from_datum(Datum d) {
    return DatumGetIntervalP(d);
}
template <>
inline const pg_uuid_t *from_datum(Datum d) {
    return DatumGetUUIDP(d);
}
template <>
inline std::string_view from_datum(Datum d) {
    const text *t = DatumGetTextPP(d);
    return {VARDATA_ANY(t), static_cast<std::size_t>(VARSIZE_ANY_EXHDR(t))};
}

// The i-th argument of a call, if it is not null.
template <Plain T>
std::optional<T> arg(FunctionCallInfo fcinfo, int i) {
    if (fcinfo->args[i].isnull) return std::nullopt;
    return from_datum<T>(fcinfo->args[i].value);
}

inline Datum text_datum(std::string_view s) {
    return PointerGetDatum(cstring_to_text_with_len(s.data(), static_cast<int>(s.size())));
}

// The role that acts on locks: the one that the session has set, also within SECURITY DEFINER
// functions and foreign-key actions, so that one role acquires and writes.  Inside maintenance
// commands (ANALYZE, REINDEX, ...) the session's role must not be borrowed.
inline Oid acting_role() {
    return InSecurityRestrictedOperation() ? GetUserId() : GetOuterUserId();
}

// A NUL-terminated palloc'd copy, for messages and C interfaces.
inline char *c_string(std::string_view s) { return pnstrdup(s.data(), s.size()); }

// The table stays locked in `mode` to the end of the transaction.
template <Plain Body>
auto with_table(Oid oid, LOCKMODE mode, Body body) {
    Relation table = table_open(oid, mode);
    auto result = body(table);
    table_close(table, NoLock);
    return result;
}

// A snapshot newer than whatever the transaction has seen; registered for the body's duration.  The
// body may ask for the server's count of ended transactions too, which a registered copy has lost:
// snapshots with the same count are the same (the server itself reuses them by it).
template <Plain Body>
auto with_fresh_snapshot(Body body) {
    const Snapshot latest = GetLatestSnapshot();
    [[maybe_unused]] const uint64 ended = latest->snapXactCompletionCount;
    Snapshot snapshot = RegisterSnapshot(latest);
    auto result = [&] {
        if constexpr (std::is_invocable_v<Body, Snapshot, uint64>)
            return body(snapshot, ended);
        else
            return body(snapshot);
    }();
    UnregisterSnapshot(snapshot);
    return result;
}

// Memory that goes with the transaction.
inline void *in_transaction(std::size_t size) {
    return MemoryContextAlloc(TopTransactionContext, size);
}

// A hash table that goes with the transaction; its entries begin with their key.
template <Plain Entry>
HTAB *transaction_table(const char *name, long size) {
    HASHCTL control{};
    control.keysize = sizeof(uint64);
    control.entrysize = sizeof(Entry);
    control.hcxt = TopTransactionContext;
    return hash_create(name, size, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

// For what abort does not undo: `cleanup` runs on both ways out.
template <Plain Body, Plain Cleanup>
void finally(Body body, Cleanup cleanup) {
    PG_TRY();
    { body(); }
    PG_FINALLY();
    { cleanup(); }
    PG_END_TRY();
}

// Runs `body` in a subtransaction of its own, which stays when body() returns true: the heavyweight
// locks it took then belong to CurTransactionResourceOwner.  On false it is undone.  An error with
// SQLSTATE `swallowed` counts as false and leaves its text in *message; any other goes on its way
// once the subtransaction is undone.
template <Plain Body>
bool in_subtransaction(Body body, int swallowed = 0, const char **message = nullptr) {
    const MemoryContext context = CurrentMemoryContext;
    const ResourceOwner owner = CurrentResourceOwner;
    volatile bool keep = false;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    PG_TRY();
    {
        keep = body();
        if (keep)
            ReleaseCurrentSubTransaction();
        else
            RollbackAndReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(context);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        MemoryContextSwitchTo(context);
        CurrentResourceOwner = owner;
        if (error->sqlerrcode != swallowed) ReThrowError(error);
        keep = false;
        if (message != nullptr) *message = pstrdup(error->message);
        FreeErrorData(error);
    }
    PG_END_TRY();
    MemoryContextSwitchTo(context);
    CurrentResourceOwner = owner;
    return keep;
}

}  // namespace distlock::pg

// Defines the C function behind one SQL function.
#define DISTLOCK_FUNCTION(name) \
    extern "C" {                \
    PG_FUNCTION_INFO_V1(name);  \
    }                           \
    Datum name([[maybe_unused]] FunctionCallInfo fcinfo)
