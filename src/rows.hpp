// rows.hpp - direct access to our own tables: scans under a snapshot of our choosing, and writes of
// single rows.
#pragma once
#include <span>

#include "catalog.hpp"
#include "pg.hpp"

namespace distlock {

struct Table {
    Oid table;
    const Oid *key;  // of its primary key, as known now: REINDEX CONCURRENTLY replaces it
};

// Where a row version lies, and which buffer its block was seen in (or none).
struct Place {
    ItemPointerData tid;
    Buffer buffer;
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

// Whether scans leave their table locked (as any SELECT does: cheap) or unlock it at once.  A call
// that may go to sleep must not hold back ALTER EXTENSION or DROP, so it says false first; the end
// of the transaction says true again.
void keep_table_locks(bool keep);
bool keeps_table_locks();

// Calls visit(slot) for each version that the snapshot shows, far end of the index first, until it
// returns false: there the newest versions lie, and under an old snapshot dead ones cannot be
// pruned.
template <pg::Plain Visit>
void scan_versions(const Table &where, std::span<ScanKeyData> keys, Snapshot snapshot,
                   Visit visit) {
    Relation table = table_open(where.table, AccessShareLock);
    (void)catalog::oids();  // with the table locked the index of now is not dropped
    Relation index = index_open(*where.key, AccessShareLock);
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
    const LOCKMODE unlocked = keeps_table_locks() ? NoLock : AccessShareLock;
    index_close(index, unlocked);
    table_close(table, unlocked);
}

// Copies the version at this place if the snapshot shows it; null = not, or it is gone, or its
// block is not in that buffer any more.
HeapTuple copy_version(Relation table, const Place &place, Snapshot snapshot);

// Which rows a scan of a whole table visits.
struct Extent {
    bool pending = false;  // also the versions that open transactions are writing
    BlockNumber (*share)(BlockNumber blocks) = nullptr;  // null = all; else the one block to visit
    LOCKMODE lock = AccessShareLock;                     // of the table; a stronger one is kept
};

// Calls body(slot) for each row, in a memory context that goes with the call; the snapshot stays
// registered until the last call has returned.
template <pg::Plain Body>
void scan_table(Oid oid, const Extent &extent, Body body) {
    Relation table = table_open(oid, extent.lock);
    TupleTableSlot *slot = table_slot_create(table, nullptr);
    Snapshot fresh = RegisterSnapshot(GetLatestSnapshot());
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    Snapshot scanned = extent.pending ? &dirty : scan_snapshot(fresh);
    const MemoryContext per_row =
        AllocSetContextCreate(CurrentMemoryContext, "distlock row", ALLOCSET_SMALL_SIZES);
    TableScanDesc scan = table_beginscan_strat(table, scanned, 0, nullptr, true, false);
    if (extent.share) {
        const BlockNumber blocks = RelationGetNumberOfBlocks(table);
        heap_setscanlimits(scan, blocks == 0 ? 0 : extent.share(blocks), blocks == 0 ? 0 : 1);
    }
    while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
        CHECK_FOR_INTERRUPTS();
        if (scanned == SnapshotAny && !table_tuple_satisfies_snapshot(table, slot, fresh)) continue;
        MemoryContextReset(per_row);
        const MemoryContext before = MemoryContextSwitchTo(per_row);
        body(slot);
        MemoryContextSwitchTo(before);
    }
    table_endscan(scan);
    MemoryContextDelete(per_row);
    UnregisterSnapshot(fresh);
    ExecDropSingleTupleTableSlot(slot);
    table_close(table, extent.lock == AccessShareLock ? AccessShareLock : NoLock);
}

// A copy of the row with these keys as last committed (and written by this transaction), or null.
HeapTuple find_row(const Table &where, std::span<ScanKeyData> keys, Datum *values, bool *nulls);

// Writes a row: over the version `replaces`, or a new one when that is null.  The next call of the
// same statement sees it.  Returns the new version's place.
ItemPointerData write_row(const Table &where, Datum *values, bool *nulls,
                          const ItemPointerData *replaces);

// Deletes this version, if nobody has changed it; never waits.
bool delete_row(const Table &where, const ItemPointerData &tid);

}  // namespace distlock
