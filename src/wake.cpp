// wake.cpp - see wake.hpp.
#include "wake.hpp"

namespace distlock {

void wake(uint64 queue) {
    const LOCKTAG turnstile = turnstile_tag(queue);
    int count = 0;
    VirtualTransactionId *holders = lock_holders(turnstile, AccessExclusiveLock, &count);
    for (int i = 0; i < count; i++) {
        PGPROC *proc = compat::proc_of(holders[i]);
        if (proc != nullptr) SetLatch(&proc->procLatch);
    }
    pfree(holders);
}

}  // namespace distlock
