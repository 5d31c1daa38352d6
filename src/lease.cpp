// lease.cpp - reading and writing rows of distlock.lease.
#include "lease.hpp"

#include "catalog.hpp"

namespace distlock {
namespace {

// Attribute numbers, in the table's order.  What changes from a grant to its release stands
// together in front: the WAL record of an update has what lies between the first and the last
// change.
enum Column : int {
    kToken = 1,
    kGrants,
    kAcquiredAt,
    kAcquiredBoot,
    kRenewedAt,
    kRenewedBoot,
    kExpiresAt,
    kExpiresBoot,
    kReleasedAt,
    kTtl,
    kMinHold,
    kLockDelay,
    kTakeovers,
    kBootId,
    kRole,
    kSlot,
    kCapacity,
    kMode,
    kName,
    kSessionPid,
    kRequestId,
    kOwner,
    kMetadata,
    kColumns = kMetadata
};

struct Row {
    Datum values[kColumns];
    bool nulls[kColumns];

    Datum &operator[](Column c) { return values[c - 1]; }
    bool has(Column c) const { return !nulls[c - 1]; }
    int64 int8(Column c) const { return DatumGetInt64(values[c - 1]); }
    int32 int4(Column c) const { return DatumGetInt32(values[c - 1]); }
    void set(Column c, bool present, Datum value) {
        nulls[c - 1] = !present;
        values[c - 1] = present ? value : Datum{0};
    }
};

template <class T>
T *pointer(Datum d) {
    return reinterpret_cast<T *>(DatumGetPointer(d));
}

Row from_lease(const Lease &lease) {
    Row row{};
    row[kToken] = Int64GetDatum(lease.token);
    row[kAcquiredAt] = TimestampTzGetDatum(lease.acquired.wall);
    row[kRenewedAt] = TimestampTzGetDatum(lease.renewed.wall);
    row[kExpiresAt] = TimestampTzGetDatum(lease.expires.wall);
    row[kAcquiredBoot] = Int64GetDatum(lease.acquired.boot);
    row[kRenewedBoot] = Int64GetDatum(lease.renewed.boot);
    row[kExpiresBoot] = Int64GetDatum(lease.expires.boot);
    row[kTtl] = Int64GetDatum(lease.ttl);
    row[kMinHold] = Int64GetDatum(lease.min_hold);
    row[kLockDelay] = Int64GetDatum(lease.lock_delay);
    row[kGrants] = Int64GetDatum(lease.grants);
    row[kTakeovers] = Int64GetDatum(lease.takeovers);
    row[kBootId] = UUIDPGetDatum(&lease.boot_id);
    row[kRole] = ObjectIdGetDatum(lease.role);
    row[kSlot] = Int32GetDatum(lease.slot);
    row[kCapacity] = Int32GetDatum(lease.capacity);
    row[kMode] = CharGetDatum(static_cast<char>(lease.mode));
    row[kName] = PointerGetDatum(lease.name);
    row.set(kReleasedAt, lease.released, TimestampTzGetDatum(lease.released_at));
    row.set(kSessionPid, lease.session_pid != 0, Int32GetDatum(lease.session_pid));
    row.set(kRequestId, lease.request_id != nullptr, UUIDPGetDatum(lease.request_id));
    row.set(kOwner, lease.owner != nullptr, PointerGetDatum(lease.owner));
    row.set(kMetadata, lease.metadata != nullptr, PointerGetDatum(lease.metadata));
    return row;
}

// One row version to a struct; texts point into the tuple.
Lease to_lease(HeapTuple tuple, TupleDesc description, Buffer buffer) {
    Row row;
    heap_deform_tuple(tuple, description, row.values, row.nulls);
    Lease lease{};
    lease.place = {tuple->t_self, buffer};
    lease.name = pointer<text>(row[kName]);  // stored PLAIN: never compressed
    lease.token = row.int8(kToken);
    lease.acquired = {row.int8(kAcquiredAt), row.int8(kAcquiredBoot)};
    lease.renewed = {row.int8(kRenewedAt), row.int8(kRenewedBoot)};
    lease.expires = {row.int8(kExpiresAt), row.int8(kExpiresBoot)};
    lease.boot_id = *DatumGetUUIDP(row[kBootId]);
    lease.ttl = row.int8(kTtl);
    lease.min_hold = row.int8(kMinHold);
    lease.lock_delay = row.int8(kLockDelay);
    lease.grants = row.int8(kGrants);
    lease.takeovers = row.int8(kTakeovers);
    lease.role = DatumGetObjectId(row[kRole]);
    lease.slot = row.int4(kSlot);
    lease.capacity = row.int4(kCapacity);
    lease.mode = static_cast<Mode>(DatumGetChar(row[kMode]));
    lease.released = row.has(kReleasedAt);
    lease.released_at = row.int8(kReleasedAt);
    lease.session_pid = row.has(kSessionPid) ? row.int4(kSessionPid) : 0;
    if (row.has(kRequestId)) lease.request_id = DatumGetUUIDP(row[kRequestId]);
    if (row.has(kOwner)) lease.owner = pointer<struct varlena>(row[kOwner]);
    if (row.has(kMetadata)) lease.metadata = pointer<struct varlena>(row[kMetadata]);
    return lease;
}

// A copy of the row in the slot, texts included.
Lease copy_lease(TupleTableSlot *slot) {
    HeapTuple tuple = ExecCopySlotHeapTuple(slot);
    const Buffer buffer = TTS_IS_BUFFERTUPLE(slot)
                              ? reinterpret_cast<BufferHeapTupleTableSlot *>(slot)->buffer
                              : InvalidBuffer;
    return to_lease(tuple, slot->tts_tupleDescriptor, buffer);
}

Table lease_table() {
    const catalog::Oids &oids = catalog::oids();
    return {oids.lease, &oids.lease_key};
}

// Collects the versions of the lock's rows that the snapshot shows and `keep` accepts.  An MVCC
// snapshot shows one a slot, so slot 0's, the last one, ends the scan.
template <pg::Plain Keep>
std::span<Lease> collect(std::string_view name, Snapshot snapshot, Keep keep) {
    ScanKeyData keys[] = {text_key(1, name)};
    std::size_t count = 0, room = 1;
    Lease *rows = static_cast<Lease *>(palloc(sizeof(Lease)));
    scan_versions(lease_table(), keys, snapshot, [&](TupleTableSlot *slot) {
        if (!keep()) return true;
        if (count == room) {
            room *= 2;
            rows = static_cast<Lease *>(repalloc(rows, room * sizeof(Lease)));
        }
        rows[count] = copy_lease(slot);
        if (!IsMVCCSnapshot(snapshot)) rows[count].writer = snapshot->xmin;
        return rows[count++].slot != 0 || !IsMVCCSnapshot(snapshot);
    });
    return {rows, count};
}

int64 until_expiry(const Lease &lease, const Instant &now) {
    return until(lease.expires, lease.renewed, lease.boot_id, now);
}

}  // namespace

State state_of(const Lease &lease, const Instant &now) {
    const int64 left = until_expiry(lease, now);
    if (lease.released) return left > 0 ? State::kMinHold : State::kFree;
    if (left > 0) return State::kHeld;
    return left + lease.lock_delay > 0 ? State::kLockDelay : State::kExpired;
}

int64 busy_for(const Lease &lease, const Instant &now) {
    return until_expiry(lease, now) + (lease.released ? 0 : lease.lock_delay);
}

int64 over_for(const Lease &lease, const Instant &now) {
    const Stamp &end = lease.released ? lease.renewed : lease.expires;
    return -until(end, lease.renewed, lease.boot_id, now);
}

int64 hold_for(const Lease &lease, const Instant &now) {
    const Stamp end{lease.acquired.wall + lease.min_hold, lease.acquired.boot + lease.min_hold};
    return until(end, lease.renewed, lease.boot_id, now);
}

bool is_unchanged_since(const Moment &earlier) {
    return pg::with_fresh_snapshot([&](Snapshot, uint64 ended) {
        return ended != 0 && ended == earlier.ended &&
               GetCurrentCommandId(false) == earlier.command;
    });
}

Reading read_lock(std::string_view name) {
    return pg::with_fresh_snapshot([&](Snapshot fresh, uint64 ended) {
        const Moment now{ended, GetCurrentCommandId(false)};
        return Reading{collect(name, fresh, [] { return true; }), now};
    });
}

Reading read_again(std::string_view name, const Reading &earlier) {
    return is_unchanged_since(earlier) ? earlier : read_lock(name);
}

std::span<Lease> read_pending(std::string_view name) {
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    // The scan reports the inserting transaction of each version, if that is still open.
    return collect(name, &dirty, [&] {
        return TransactionIdIsValid(dirty.xmin) && !TransactionIdIsCurrentTransactionId(dirty.xmin);
    });
}

Lease *read_lease_at(const Place &place, LOCKMODE mode, Moment *when) {
    Relation table = table_open(catalog::oids().lease, mode);
    const HeapTuple tuple = pg::with_fresh_snapshot([&](Snapshot fresh, uint64 ended) {
        *when = {ended, GetCurrentCommandId(false)};
        return copy_version(table, place, fresh);
    });
    Lease *lease = nullptr;
    if (tuple != nullptr) {
        lease = static_cast<Lease *>(palloc(sizeof(Lease)));
        *lease = to_lease(tuple, RelationGetDescr(table), place.buffer);
    }
    table_close(table, lease != nullptr && keeps_table_locks() ? NoLock : mode);
    return lease;
}

Lease *current_grant(std::span<Lease> rows, int64 token) {
    Lease *found = nullptr;
    for (Lease &row : rows)
        if (row.token == token && !row.released) found = &row;
    if (found == nullptr) return nullptr;
    // An exclusive token is stale once any other slot has a higher one, a shared one once slot 0
    // has.
    for (const Lease &row : rows)
        if (row.token > token && (found->slot == 0 || row.slot == 0)) return nullptr;
    return found;
}

Lease *standing_grant(std::span<Lease> rows) {
    Lease *highest = nullptr;
    for (Lease &row : rows)
        if (!row.released && (highest == nullptr || row.token > highest->token)) highest = &row;
    return highest;
}

Place insert_lease(const Lease &lease) {
    Row row = from_lease(lease);
    return {write_row(lease_table(), row.values, row.nulls, nullptr), InvalidBuffer};
}

Place update_lease(const Lease &lease) {
    Row row = from_lease(lease);
    const ItemPointerData &old = lease.place.tid;
    const ItemPointerData tid = write_row(lease_table(), row.values, row.nulls, &old);
    const bool moved = ItemPointerGetBlockNumber(&tid) != ItemPointerGetBlockNumber(&old);
    return {tid, moved ? InvalidBuffer : lease.place.buffer};
}

bool delete_lease(const Lease &lease) { return delete_row(lease_table(), lease.place.tid); }

void each_lease(const Extent &extent, EachLease body, void *context) {
    scan_table(catalog::oids().lease, extent, [&](TupleTableSlot *slot) {
        Lease lease = copy_lease(slot);
        body(lease, context);
    });
}

}  // namespace distlock
