// compat.hpp - what differs between the server's major versions; wrappers are named after the
// newest.
#pragma once
extern "C" {
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#if PG_VERSION_NUM < 170000
#include "storage/sinvaladt.h"
#endif
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif
#include "catalog/pg_class_d.h"
#include "commands/sequence.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/wait_event.h"

// Of libpq/libpq.h, which needs headers that Debian's server-dev package does not bring.
bool pq_check_connection(void);
}

namespace distlock::compat {

// One more parameter (instrumentation) since 18 (f56c7cd4e9c).
inline IndexScanDesc index_beginscan(Relation table, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
    return ::index_beginscan(table, index, snapshot, nullptr, keys, 0);
#else
    return ::index_beginscan(table, index, snapshot, keys, 0);
#endif
}

// simple_heap_update names the indexes to update since 16 (19d8e2308bc); false = heap-only tuple.
inline bool simple_heap_update(Relation table, ItemPointer tid, HeapTuple tuple) {
#if PG_VERSION_NUM >= 160000
    TU_UpdateIndexes indexes = TU_None;
    ::simple_heap_update(table, tid, tuple, &indexes);
#else
    ::simple_heap_update(table, tid, tuple);
#endif
    return !HeapTupleIsHeapOnly(tuple);
}

// The process behind a virtual transaction id, or null (3d39b448482, 17).
inline PGPROC *proc_of(VirtualTransactionId id) {
#if PG_VERSION_NUM >= 170000
    return ProcNumberGetProc(id.procNumber);
#else
    return BackendIdGetProc(id.backendId);
#endif
}

// Its own virtual transaction id, as of now (ab355e3a88d, 17).
inline VirtualTransactionId vxid_of(const PGPROC *proc) {
    VirtualTransactionId id;
#if PG_VERSION_NUM >= 170000
    id.procNumber = proc->vxid.procNumber;
    id.localTransactionId = proc->vxid.lxid;
#else
    id.backendId = proc->backendId;
    id.localTransactionId = proc->lxid;
#endif
    return id;
}

// The i-th entry (from 1) of the backend status snapshot was renamed in 16 (a1fb4fcf5a2).
inline LocalPgBackendStatus *local_status(int i) {
#if PG_VERSION_NUM >= 160000
    return pgstat_get_local_beentry_by_index(i);
#else
    return pgstat_fetch_stat_local_beentry(i);
#endif
}

// Whether this backend holds the lock in just that mode; a parameter more since 17 (8f052299fdd).
inline bool lock_held_by_me(const LOCKTAG &tag, LOCKMODE mode) {
#if PG_VERSION_NUM >= 170000
    return LockHeldByMe(&tag, mode, false);
#else
    return LockHeldByMe(&tag, mode);
#endif
}

// object_ownercheck replaced the per-class functions in 16 (afbfc02983f).
inline bool owns_relation(Oid relation, Oid role) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(RelationRelationId, relation, role);
#else
    return pg_class_ownercheck(relation, role);
#endif
}

// The holder in one entry of the lock table's listing (ab355e3a88d, 17).
inline VirtualTransactionId holder_of(const LockInstanceData &entry) {
#if PG_VERSION_NUM >= 170000
    return entry.vxid;
#else
    return {entry.backend, entry.lxid};
#endif
}

// The relation's physical identity in a sequence record was renamed in 16 (b0a55e43299).
inline void set_locator(xl_seq_rec &record, Relation relation) {
#if PG_VERSION_NUM >= 160000
    record.locator = relation->rd_locator;
#else
    record.node = relation->rd_node;
#endif
}

// Pins `buffer` if it still holds that block of the table; false = it does not.  The relation's
// physical identity was renamed in 16 (b0a55e43299).
inline bool read_recent_buffer(Relation table, BlockNumber block, Buffer buffer) {
#if PG_VERSION_NUM >= 160000
    return ::ReadRecentBuffer(table->rd_locator, MAIN_FORKNUM, block, buffer);
#else
    return ::ReadRecentBuffer(table->rd_node, MAIN_FORKNUM, block, buffer);
#endif
}

// A named wait event since 17 (c9af054653); the general one before.
inline uint32 wait_event([[maybe_unused]] const char *name) {
#if PG_VERSION_NUM >= 170000
    return WaitEventExtensionNew(name);
#else
    return PG_WAIT_EXTENSION;
#endif
}

}  // namespace distlock::compat
