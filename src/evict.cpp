// evict.cpp - see evict.hpp.
//
// A pid is never signalled on old knowledge: the virtual transaction id that held the lock is
// compared again under ProcArrayLock, so a pooled backend that has gone on to the next client's
// transaction is left alone.  One that waits for its synchronous standby is left alone too: it
// would commit, locally and visibly, instead of rolling back.
#include "evict.hpp"

#include <csignal>

#include "renew.hpp"
#include "report.hpp"
#include "settings.hpp"

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

// Microseconds for which nobody has had a right to the lock, as far as the one in the way goes.
int64 overdue(std::string_view name) {
    const Instant now = clock_now();
    const Lease *pending = read_pending(name);
    if (pending != nullptr) return over_for(*pending, now);
    const std::span<Lease> rows = read_lock(name);
    return rows.empty() ? -1 : over_for(rows.back(), now);
}

}  // namespace

void evict_if_due(std::string_view name, const LOCKTAG &tag) {
    const int64 grace = settings::evict_after();
    if (grace < 0) return;
    const int64 over = overdue(name);
    if (over < 0 || over < grace * 1000) return;
    int count = 0;
    VirtualTransactionId *holders = lock_holders(tag, ExclusiveLock, &count);
    for (int i = 0; i < count; i++) {
        const int pid = terminate(holders[i]);
        if (pid == 0) continue;
        ereport(LOG,
                errmsg("distlock: terminated process %d, whose open transaction kept lock \"%.*s\" "
                       "from being granted",
                       pid, static_cast<int>(name.size()), name.data()),
                errdetail("Its lease has been over for %s; distlock.evict_after is %s.",
                          seconds(over), seconds(grace * 1000)));
    }
}

}  // namespace distlock
