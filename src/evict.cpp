// evict.cpp - see evict.hpp.
//
// A pid is never signalled on old knowledge: the virtual transaction id that held the lock is
// compared again under ProcArrayLock, so a pooled backend that has gone on to the next client's
// transaction is left alone.  One that waits for its synchronous standby is left alone too: it
// would commit, locally and visibly, instead of rolling back.
#include "evict.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

#include "judge.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "tag.hpp"

extern "C" {
#include "access/subtrans.h"
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

// Since when what stands in the way is over, in microseconds; -1 = it is not.
struct Overdue {
    int64 row = -1;       // the committed lease of the slot: for fence pins
    int64 youngest = -1;  // of what open transactions are writing
    int64 ends_in = 0;    // microseconds until the first of all these ends; 0 = none will
    std::span<Lease> pending;
    Instant now;
};

// What open transactions are writing is read first: what ends between the two readings is then seen
// by the second at the latest.
Overdue look(std::string_view name, int32 slot) {
    Overdue over;
    over.now = clock_now();
    over.pending = read_pending(name);
    const std::span<Lease> rows = read_lock(name);
    const Lease *row = row_of_slot(rows, slot);
    // After a downgrade the grant lives on in another slot, and its writers still pin slot 0.
    if (row != nullptr && row->released && current_grant(rows, row->token) != nullptr)
        row = current_grant(rows, row->token);
    const auto ends_after = [&](int64 left) {
        if (left > 0) over.ends_in = over.ends_in == 0 ? left : std::min(over.ends_in, left);
    };
    if (row != nullptr) over.row = over_for(*row, over.now);
    for (const Lease &any : rows) ends_after(busy_for(any, over.now));
    for (const Lease &version : over.pending) {
        const int64 one = std::max<int64>(0, over_for(version, over.now));
        over.youngest = over.youngest < 0 ? one : std::min(over.youngest, one);
        ends_after(busy_for(version, over.now));
    }
    return over;
}

// What this backend is writing: since when the youngest of it is over.  -1 when it has not written.
int64 written_by(const Overdue &over, int pid) {
    int64 youngest = -1;
    for (const Lease &version : over.pending) {
        if (BackendXidGetPid(SubTransGetTopmostTransaction(version.writer)) != pid) continue;
        const int64 one = over_for(version, over.now);
        youngest = youngest < 0 ? one : std::min(youngest, one);
    }
    return youngest;
}

}  // namespace

int64 evict_if_due(std::string_view name, int32 slot) {
    const int64 grace = int64{settings::evict_after()} * 1000;
    const Overdue first = look(name, slot);
    if (grace < 0 || std::max(first.row, first.youngest) < grace) return first.ends_in;
    // One consistent listing of who holds what comes before the second look: whoever pinned the
    // slot then cannot have been granted anything since.
    const LOCKTAG tag = slot_tag(name, slot);
    const LOCKMASK kPins = LOCKBIT_ON(RowShareLock) | LOCKBIT_ON(RowExclusiveLock);
    const LockData *locks = GetLockStatusData();
    const Overdue over = look(name, slot);
    for (int i = 0; i < locks->nelements; i++) {
        const LockInstanceData &entry = locks->locks[i];
        if (std::memcmp(&entry.locktag, &tag, sizeof tag) != 0 || entry.holdMask == 0) continue;
        if (entry.pid == 0 || entry.pid == MyProcPid) continue;
        const bool pin = (entry.holdMask & ~kPins) == 0;
        // A renewal under way, not yet over, speaks for the writers of the same holder.
        const bool spared = pin && over.youngest >= 0 && over.youngest < grace;
        const int64 due = pin ? over.row : written_by(over, entry.pid);
        if (due >= grace && !spared) evict(name, compat::holder_of(entry), due);
    }
    return over.ends_in;
}

}  // namespace distlock
