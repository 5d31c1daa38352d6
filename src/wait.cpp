// wait.cpp - the turnstile and its head.
//
// Who waits takes the name's turnstile (class 0xD2) in Exclusive: PostgreSQL's own lock queue is
// the queue.  Its holder, the head, is the only one that looks at the lease; it sleeps on its latch
// to the lease's end or until it is woken (wake.hpp), and holds no other lock while it sleeps.  It
// releases the turnstile by hand, so that a winner idle in its transaction does not stop the queue.
#include "wait.hpp"

#include <algorithm>

#include "label.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "txn.hpp"
#include "wake.hpp"

namespace distlock {
namespace {

// How often a head looks again when an open transaction, whose end nobody promises, is in the way.
constexpr int64 kRecheck = 1000000;
constexpr int64 kLongestSleep = int64{3600} * 1000000;

// The end of a wait on the boot clock.
class Deadline {
public:
    explicit Deadline(int64 wait)
        : end_(wait == kForever ? PG_INT64_MAX : clock_now().boot + wait) {}
    int64 left() const { return end_ == PG_INT64_MAX ? kLongestSleep : end_ - clock_now().boot; }
    // For a lock timeout: at least 1 ms, 0 = no limit.
    int left_ms() const {
        if (end_ == PG_INT64_MAX) return 0;
        return static_cast<int>(std::clamp<int64>((left() + 999) / 1000, 1, INT_MAX));
    }

private:
    int64 end_;
};

// A client that has gone must not be granted anything: it would waste a lease, and the queue with
// it.
void check_client() {
    if (MyProcPort != nullptr && !pq_check_connection()) {
        ClientConnectionLost = true;
        InterruptPending = true;
    }
    CHECK_FOR_INTERRUPTS();
}

void sleep_for(int64 us) {
    static constinit uint32 event = 0;
    if (event == 0) event = compat::wait_event("DistlockWait");
    const auto ms = static_cast<long>((std::min(us, kLongestSleep) + 999) / 1000);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, event);
}

// The head's loop.  The latch is reset before the read: whatever changes after it sets it again.
int64 wait_as_head(const Request &request, const Deadline &deadline) {
    const MemoryContext caller = CurrentMemoryContext;
    const MemoryContext round =
        AllocSetContextCreate(caller, "distlock wait", ALLOCSET_SMALL_SIZES);
    Sighting sighting;
    Attempt attempt{};
    for (;;) {
        ResetLatch(MyLatch);
        check_client();
        MemoryContextReset(round);
        MemoryContextSwitchTo(round);
        attempt = try_grant(request, sighting);
        MemoryContextSwitchTo(caller);
        if (attempt.token != 0) break;
        const int64 left = deadline.left();
        if (left <= 0) break;
        sleep_for(std::min(left, attempt.retry_in > 0 ? attempt.retry_in : kRecheck));
    }
    MemoryContextDelete(round);
    return attempt.token;
}

// A transaction that holds something of ours must not sleep: two of them, crosswise, would sleep
// for ever where no deadlock detector looks.
void refuse_to_hold_and_wait(const Request &request) {
    if (!txn::touched()) return;
    ereport(ERROR, errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
            errmsg("cannot wait for lock \"%.*s\" in a transaction that has already acquired, "
                   "renewed, released or fenced a lock",
                   static_cast<int>(request.name.size()), request.name.data()),
            errdetail("Two such transactions, each waiting for the other's lock, would wait for "
                      "ever. %s",
                      lock_facts(request.name, read_lock(request.name))),
            errhint("Commit first, use distlock.acquire_all for several locks, or try_acquire "
                    "without wait."));
}

void notice_old_snapshot() {
    if (!IsolationUsesXactSnapshot() || !IsTransactionBlock()) return;
    ereport(NOTICE, errmsg("reads in this transaction are older than the lock it waited for"),
            errdetail("At isolation level REPEATABLE READ or SERIALIZABLE a transaction goes on "
                      "reading what was committed when it began."),
            errhint("Acquire in a transaction of its own, before the one that does the work."));
}

}  // namespace

int64 acquire_within(const Request &request) {
    const Deadline deadline(request.wait);
    const int64 token = try_once(request);
    if (token != 0 || request.wait == 0) return token;
    refuse_to_hold_and_wait(request);
    notice_old_snapshot();
    const LOCKTAG turnstile = turnstile_tag(queue_of(request.name));
    label::show(request);
    int64 granted = 0;
    if (lock_within(turnstile, ExclusiveLock, deadline.left_ms())) {
        granted = wait_as_head(request, deadline);
        unlock(turnstile, ExclusiveLock);
    }
    label::clear();
    return granted;
}

}  // namespace distlock
