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
#include "session.hpp"
#include "settings.hpp"
#include "txn.hpp"
#include "wake.hpp"

namespace distlock {
namespace {

// Also how long a client may be gone before its wait ends.
constexpr int64 kLongestSleep = int64{15} * 1000000;

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
    InvalidateCatalogSnapshot();
    const auto ms = static_cast<long>((std::min(us, kLongestSleep) + 999) / 1000);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, event);
}

// Calls try_it() until it succeeds or time is up, sleeping in between for as long as it says.  The
// latch is reset before each try: whatever changes after it sets it again.
template <pg::Plain Try>
bool repeat(const Deadline &deadline, Try try_it) {
    const MemoryContext caller = CurrentMemoryContext;
    const MemoryContext round =
        AllocSetContextCreate(caller, "distlock wait", ALLOCSET_SMALL_SIZES);
    bool done = false;
    for (;;) {
        ResetLatch(MyLatch);
        check_client();
        MemoryContextReset(round);
        MemoryContextSwitchTo(round);
        int64 retry_in = 0;
        done = try_it(&retry_in);
        MemoryContextSwitchTo(caller);
        if (done) break;
        const int64 left = deadline.left();
        if (left <= 0) break;
        sleep_for(std::min(left, retry_in > 0 ? retry_in : kRecheck));
    }
    MemoryContextDelete(round);
    return done;
}

// Runs body() as the head of the name's queue; false = the head's place was not reached in time.
template <pg::Plain Body>
bool as_head(const Request &request, const Deadline &deadline, Body body) {
    const LOCKTAG turnstile = turnstile_tag(queue_of(request.name));
    label::show(request);
    InvalidateCatalogSnapshot();  // look-ups leave one behind, which would hold back vacuum
    const bool reached = lock_within(turnstile, ExclusiveLock, deadline.left_ms());
    if (reached) {
        body();
        unlock(turnstile, ExclusiveLock);
    }
    label::clear();
    return reached;
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

// Tries all in order, in a subtransaction that goes when one cannot be had: *busy is that one.
bool try_all(std::span<const Request> requests, std::size_t head, int64 *tokens,
             std::size_t *busy) {
    return pg::in_subtransaction([&] {
        for (std::size_t i = 0; i < requests.size(); i++) {
            Sighting sighting;
            // Whoever stands at the head of a queue must not ask for its turnstile again.
            tokens[i] =
                (i == head ? try_grant(requests[i], sighting) : try_once(requests[i])).token;
            if (tokens[i] != 0) continue;
            *busy = i;
            return false;
        }
        return true;
    });
}

// A look without locks first: what cannot be had must not cost a transaction id.
bool all_grantable(std::span<const Request> requests, std::size_t *busy) {
    for (std::size_t i = 0; i < requests.size(); i++) {
        Sighting sighting;
        const Verdict verdict = judge(read_lock(requests[i].name), requests[i], sighting);
        if (verdict.grantable || verdict.own != nullptr) continue;
        *busy = i;
        return false;
    }
    return true;
}

int64 standing_token(std::string_view name, int64 *retry_in) {
    const Instant now = clock_now();
    const std::span<Lease> rows = read_lock(name);
    const Lease *lease = standing_grant(rows);
    if (lease == nullptr || !lives(*lease)) {
        *retry_in = kLongestSleep;
        return 0;
    }
    *retry_in = -over_for(*lease, now);
    if (lease->session_pid != 0) *retry_in = std::min(*retry_in, kSessionRecheck);
    return lease->token;
}

}  // namespace

int64 acquire_within(const Request &request) {
    const Deadline deadline(request.wait);
    keep_table_locks(request.wait == 0);
    int64 token = try_once(request).token;
    if (token != 0 || request.wait == 0) return token;
    refuse_to_hold_and_wait(request);
    notice_old_snapshot();
    (void)as_head(request, deadline, [&] {
        Sighting sighting;
        (void)repeat(deadline, [&](int64 *retry_in) {
            const Attempt attempt = try_grant(request, sighting);
            *retry_in = attempt.retry_in;
            token = attempt.token;
            return token != 0;
        });
    });
    return token;
}

bool acquire_all_within(std::span<const Request> requests, int64 *tokens, std::size_t *busy) {
    const Deadline deadline(requests[0].wait);
    keep_table_locks(requests[0].wait == 0);
    const std::size_t nobody = requests.size();
    if (all_grantable(requests, busy) && try_all(requests, nobody, tokens, busy)) return true;
    if (requests[0].wait == 0) return false;
    refuse_to_hold_and_wait(requests[*busy]);
    notice_old_snapshot();
    bool got = false;
    while (!got && deadline.left() > 0) {
        // At the head of the queue of the busy one, until that one can be had; then all are tried.
        const std::size_t head = *busy;
        const bool reached = as_head(requests[head], deadline, [&] {
            Sighting sighting;
            (void)repeat(deadline, [&](int64 *retry_in) {
                const Verdict verdict =
                    judge(read_lock(requests[head].name), requests[head], sighting);
                *retry_in = verdict.retry_in;
                if (!verdict.grantable && verdict.own == nullptr) return false;
                got = all_grantable(requests, busy) && try_all(requests, head, tokens, busy);
                return got || *busy != head;
            });
        });
        if (!reached) break;
    }
    return got;
}

std::optional<int64> watch_token(std::string_view name, int64 after, int64 wait) {
    const Deadline deadline(wait);
    keep_table_locks(false);
    const LOCKTAG turnstile = turnstile_tag(queue_of(name));
    (void)lock_within(turnstile, AccessShareLock, 0);  // conflicts with nothing that is ever taken
    std::optional<int64> token;
    (void)repeat(deadline, [&](int64 *retry_in) {
        const int64 now = standing_token(name, retry_in);
        if (now != after) token = now;
        return token.has_value();
    });
    unlock(turnstile, AccessShareLock);
    return token;
}

}  // namespace distlock
