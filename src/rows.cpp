// rows.cpp - see rows.hpp.
#include "rows.hpp"

namespace distlock {
namespace {

ScanKeyData equals(AttrNumber column, RegProcedure equal, Datum value) {
    ScanKeyData key;
    ScanKeyInit(&key, column, BTEqualStrategyNumber, equal, value);
    return key;
}

void insert_index_entry(Relation table, Oid key, HeapTuple tuple, const Datum *values,
                        const bool *nulls, bool unchanged) {
    Relation index = index_open(key, RowExclusiveLock);
    Datum entry[INDEX_MAX_KEYS];
    bool entry_nulls[INDEX_MAX_KEYS];
    for (int i = 0; i < index->rd_index->indnkeyatts; i++) {
        const int column = index->rd_index->indkey.values[i] - 1;
        entry[i] = values[column];
        entry_nulls[i] = nulls[column];
    }
    (void)index_insert(index, entry, entry_nulls, &tuple->t_self, table, UNIQUE_CHECK_YES,
                       unchanged, nullptr);
    index_close(index, NoLock);
}

}  // namespace

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

void write_row(const Table &where, Datum *values, bool *nulls, const ItemPointerData *replaces) {
    Relation table = table_open(where.table, RowExclusiveLock);
    HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
    if (replaces == nullptr) {
        simple_heap_insert(table, tuple);
        insert_index_entry(table, where.key, tuple, values, nulls, false);
    } else {
        ItemPointerData tid = *replaces;
        if (compat::simple_heap_update(table, &tid, tuple))
            insert_index_entry(table, where.key, tuple, values, nulls, true);
    }
    table_close(table, NoLock);
    CommandCounterIncrement();
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
