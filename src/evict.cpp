// evict.cpp - see evict.hpp.
//
// A pid is never signalled on old knowledge: the virtual transaction id that held the lock is
// compared again under ProcArrayLock, so a pooled backend that has gone on to the next client's
// transaction is left alone.  One that waits for its synchronous standby is left alone too: it
// would commit, locally and visibly, instead of rolling back.
#include "evict.hpp"

#include <algorithm>
#include <csignal>

#include "judge.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "tag.hpp"

extern "C" {
#include "replication/syncrep.h"
#include "storage/lwlock.h"
}

namespace distlock {
namespace {

// The pid that was signalled, 0 = none.
int terminate(VirtualTransactionId holder) {
    int pid = 0;
    LWLockAcquire(ProcArrayLock, LW_SHARED);
    const PGPROC *proc = compat::proc_of(holder);
    if (proc != nullptr && VirtualTransactionIdEquals(compat::vxid_of(proc), holder) &&
        proc->syncRepState == SYNC_REP_NOT_WAITING && proc->pid != 0 &&
        kill(proc->pid, SIGTERM) == 0)
        pid = proc->pid;
    LWLockRelease(ProcArrayLock);
    return pid;
}

bool contains(const VirtualTransactionId *list, int count, VirtualTransactionId id) {
    for (int i = 0; i < count; i++)
        if (VirtualTransactionIdEquals(list[i], id)) return true;
    return false;
}

void evict(std::string_view name, VirtualTransactionId holder, int64 over) {
    const int pid = terminate(holder);
    if (pid == 0) return;
    ereport(LOG,
            errmsg("distlock: terminated process %d, whose open transaction kept lock \"%.*s\" "
                   "from being granted",
                   pid, static_cast<int>(name.size()), name.data()),
            errdetail("Its lease has been over for %s; distlock.evict_after is %s.", seconds(over),
                      seconds(int64{settings::evict_after()} * 1000)));
}

// How long the grants that open transactions are making have been over, the youngest of them; -1
// when none is being written.  A transaction that holds the lock and has not written yet is about
// to.
int64 pending_overdue(std::string_view name, int32 slot, const Instant &now) {
    int64 over = PG_INT64_MAX;
    for (const Lease &row : read_pending(name))
        if (slot == 0 || row.slot == slot) over = std::min(over, over_for(row, now));
    return over == PG_INT64_MAX ? -1 : over;
}

}  // namespace

void evict_if_due(std::string_view name, int32 slot) {
    const int64 grace = int64{settings::evict_after()} * 1000;
    if (grace < 0) return;
    const Instant now = clock_now();
    const std::span<Lease> rows = read_lock(name);
    const Lease *row = row_of_slot(rows, slot);
    // After a downgrade the grant lives on in another slot, and its writers still pin slot 0.
    if (row != nullptr && row->released && current_grant(rows, row->token) != nullptr)
        row = current_grant(rows, row->token);
    const int64 row_over = row == nullptr ? -1 : over_for(*row, now);
    const int64 pending_over = pending_overdue(name, slot, now);
    if (std::max(row_over, pending_over) < grace) return;
    // Writers of rows hold ShareUpdateExclusive, Share or Exclusive; what is left are fence pins.
    const LOCKTAG tag = slot_tag(name, slot);
    int all = 0, writing = 0;
    VirtualTransactionId *writers = lock_holders(tag, ShareUpdateExclusiveLock, &writing);
    VirtualTransactionId *holders = lock_holders(tag, ExclusiveLock, &all);
    const bool renewing = pending_over >= 0 && pending_over < grace;
    for (int i = 0; i < all; i++) {
        const bool writer = contains(writers, writing, holders[i]);
        const int64 over = writer ? pending_over : row_over;
        if (over >= grace && !(renewing && !writer)) evict(name, holders[i], over);
    }
}

}  // namespace distlock
