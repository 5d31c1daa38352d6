// wake.cpp - see wake.hpp.
#include "wake.hpp"

namespace distlock {

void wake(uint64 queue, Wake whom) {
    const LOCKTAG turnstile = turnstile_tag(queue);
    int count = 0, heads = 0;
    VirtualTransactionId *holders = lock_holders(turnstile, AccessExclusiveLock, &count);
    VirtualTransactionId *head = nullptr;
    if (count > 0 && whom == Wake::kWatchers) head = lock_holders(turnstile, RowShareLock, &heads);
    for (int i = 0; i < count; i++) {
        PGPROC *proc = compat::proc_of(holders[i]);
        const bool is_head = heads > 0 && VirtualTransactionIdEquals(holders[i], head[0]);
        if (proc != nullptr && !is_head) SetLatch(&proc->procLatch);
    }
    pfree(holders);
    if (head != nullptr) pfree(head);
}

}  // namespace distlock
