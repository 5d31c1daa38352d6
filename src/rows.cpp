// rows.cpp - see rows.hpp.
#include "rows.hpp"

extern "C" {
#include "catalog/pg_index.h"
}

namespace distlock {
namespace {

constinit bool table_locks_kept = true;

ScanKeyData equals(AttrNumber column, RegProcedure equal, Datum value) {
    ScanKeyData key;
    ScanKeyInit(&key, column, BTEqualStrategyNumber, equal, value);
    return key;
}

void insert_index_entry(Relation table, Oid oid, HeapTuple tuple, const Datum *values,
                        const bool *nulls, bool unchanged) {
    Relation index = index_open(oid, RowExclusiveLock);
    const Form_pg_index form = index->rd_index;
    Datum entry[INDEX_MAX_KEYS];
    bool entry_nulls[INDEX_MAX_KEYS];
    for (int i = 0; form->indisready && i < form->indnatts; i++) {
        const int column = form->indkey.values[i];
        if (column <= 0 || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr))
            ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                    errmsg("index \"%s\" on a table of distlock cannot be kept up",
                           RelationGetRelationName(index)),
                    errdetail("It has an expression or a condition."), errhint("Drop it."));
        entry[i] = values[column - 1];
        entry_nulls[i] = nulls[column - 1];
    }
    // An update never changes the key, so only an insert can meet a duplicate; looking for one
    // would visit every dead version of the name.
    const bool check = form->indisunique && !unchanged;
    if (form->indisready)
        (void)index_insert(index, entry, entry_nulls, &tuple->t_self, table,
                           check ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO, unchanged, nullptr);
    index_close(index, NoLock);
}

// All there are: during REINDEX CONCURRENTLY the key has a second index, which takes its place.
void insert_index_entries(Relation table, HeapTuple tuple, const Datum *values, const bool *nulls,
                          bool unchanged) {
    List *indexes = RelationGetIndexList(table);
    for (int i = 0; i < list_length(indexes); i++)
        insert_index_entry(table, list_nth_oid(indexes, i), tuple, values, nulls, unchanged);
    list_free(indexes);
}

ItemPointerData write_version(const Table &where, Datum *values, bool *nulls,
                              const ItemPointerData *replaces) {
    Relation table = table_open(where.table, RowExclusiveLock);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    if (replaces == nullptr) {
        simple_heap_insert(table, tuple);
        insert_index_entries(table, tuple, values, nulls, false);
    } else {
        ItemPointerData tid = *replaces;
        if (compat::simple_heap_update(table, &tid, tuple))
            insert_index_entries(table, tuple, values, nulls, true);
    }
    table_close(table, NoLock);
    CommandCounterIncrement();
    return tuple->t_self;
}

}  // namespace

void keep_table_locks(bool keep) { table_locks_kept = keep; }

bool keeps_table_locks() { return table_locks_kept; }

ScanKeyData text_key(AttrNumber column, std::string_view value) {
    ScanKeyData key = equals(column, F_TEXTEQ, pg::text_datum(value));
    key.sk_collation = C_COLLATION_OID;
    return key;
}

ScanKeyData time_key(AttrNumber column, TimestampTz value) {
    return equals(column, F_TIMESTAMPTZ_EQ, TimestampTzGetDatum(value));
}

ScanKeyData oid_key(AttrNumber column, Oid value) {
    return equals(column, F_OIDEQ, ObjectIdGetDatum(value));
}

HeapTuple copy_version(Relation table, const Place &place, Snapshot snapshot) {
    const BlockNumber block = ItemPointerGetBlockNumber(&place.tid);
    const OffsetNumber offset = ItemPointerGetOffsetNumber(&place.tid);
    if (!BufferIsValid(place.buffer) || !compat::read_recent_buffer(table, block, place.buffer))
        return nullptr;
    // As the server's own reads do: else a page that is only read in this way fills with dead
    // versions.
    heap_page_prune_opt(table, place.buffer);
    HeapTuple copy = nullptr;
    LockBuffer(place.buffer, BUFFER_LOCK_SHARE);
    const Page page = BufferGetPage(place.buffer);
    if (offset <= PageGetMaxOffsetNumber(page) && ItemIdIsNormal(PageGetItemId(page, offset))) {
        const ItemId item = PageGetItemId(page, offset);
        HeapTupleData tuple{ItemIdGetLength(item), place.tid, RelationGetRelid(table),
                            reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item))};
        if (HeapTupleSatisfiesVisibility(&tuple, snapshot, place.buffer))
            copy = heap_copytuple(&tuple);
    }
    UnlockReleaseBuffer(place.buffer);
    return copy;
}

HeapTuple find_row(const Table &where, std::span<ScanKeyData> keys, Datum *values, bool *nulls) {
    return pg::with_fresh_snapshot([&](Snapshot fresh) {
        HeapTuple found = nullptr;
        scan_versions(where, keys, fresh, [&](TupleTableSlot *slot) {
            found = ExecCopySlotHeapTuple(slot);
            heap_deform_tuple(found, slot->tts_tupleDescriptor, values, nulls);
            return false;
        });
        return found;
    });
}

ItemPointerData write_row(const Table &where, Datum *values, bool *nulls,
                          const ItemPointerData *replaces) {
    if (ActiveSnapshotSet()) return write_version(where, values, nulls, replaces);
    // A procedure between transactions has no snapshot; taking apart large old values needs one.
    return pg::with_fresh_snapshot(
        [&](Snapshot) { return write_version(where, values, nulls, replaces); });
}

bool delete_row(const Table &where, const ItemPointerData &tid) {
    return pg::with_table(where.table, RowExclusiveLock, [&](Relation table) {
        return pg::with_fresh_snapshot([&](Snapshot snapshot) {
            TM_FailureData failure;
            ItemPointerData at = tid;
            return table_tuple_delete(table, &at, GetCurrentCommandId(true), snapshot,
                                      InvalidSnapshot, false, &failure, false) == TM_Ok;
        });
    });
}

}  // namespace distlock
