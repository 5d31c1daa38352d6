// rows.hpp - direct access to our own tables: index scans under a snapshot of our choosing, and
// writes of single rows.  Each table has one index, its key; more would be left without entries.
#pragma once
#include <span>

#include "pg.hpp"

namespace distlock {

struct Table {
    Oid table;
    Oid key;
};

// Equality on a key column; texts compare byte by byte.
ScanKeyData text_key(AttrNumber column, std::string_view value);
ScanKeyData time_key(AttrNumber column, TimestampTz value);
ScanKeyData oid_key(AttrNumber column, Oid value);

// MVCC scans take predicate locks in a SERIALIZABLE transaction, and two strangers' acquires would
// then end in 40001.  There every version is tested against the snapshot by hand; elsewhere the
// plain scan is cheaper, since it stops at the first visible version of a HOT chain.
inline Snapshot scan_snapshot(Snapshot snapshot) {
    return IsolationIsSerializable() ? SnapshotAny : snapshot;
}

// Calls visit(slot) for each version that the snapshot shows, far end of the index first, until it
// returns false: there the newest versions lie, and under an old snapshot dead ones cannot be
// pruned.
template <pg::Plain Visit>
void scan_versions(const Table &where, std::span<ScanKeyData> keys, Snapshot snapshot,
                   Visit visit) {
    Relation table = table_open(where.table, AccessShareLock);
    Relation index = index_open(where.key, AccessShareLock);
    TupleTableSlot *slot = table_slot_create(table, nullptr);
    const int count = static_cast<int>(keys.size());
    const bool by_hand = snapshot != scan_snapshot(snapshot) && IsMVCCSnapshot(snapshot);
    IndexScanDesc scan =
        compat::index_beginscan(table, index, by_hand ? SnapshotAny : snapshot, count);
    index_rescan(scan, keys.data(), count, nullptr, 0);
    while (index_getnext_slot(scan, BackwardScanDirection, slot)) {
        if (by_hand && !table_tuple_satisfies_snapshot(table, slot, snapshot)) continue;
        if (!visit(slot)) break;
    }
    index_endscan(scan);
    ExecDropSingleTupleTableSlot(slot);
    // A reader that goes on to wait must not hold back ALTER EXTENSION or DROP.
    index_close(index, AccessShareLock);
    table_close(table, AccessShareLock);
}

// A copy of the row with these keys as last committed (and written by this transaction), or null.
HeapTuple find_row(const Table &where, std::span<ScanKeyData> keys, Datum *values, bool *nulls);

// Writes a row: over the version `replaces`, or a new one when that is null.  The next call of the
// same statement sees it.
void write_row(const Table &where, Datum *values, bool *nulls, const ItemPointerData *replaces);

// Deletes this version, if nobody has changed it; never waits.
bool delete_row(const Table &where, const ItemPointerData &tid);

}  // namespace distlock
