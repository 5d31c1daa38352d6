// txn.cpp - transaction state, and the callbacks at its end.
//
// Order at the end of a transaction: XACT_EVENT_PRE_COMMIT (everything that may refuse or write),
// XACT_EVENT_COMMIT or ABORT (too late to refuse, our locks still held), then the resource-release
// callback, phase AFTER_LOCKS: only there may waiters be woken, since one woken earlier would find
// the lock still taken and sleep again.
#include "txn.hpp"

#include <algorithm>

#include "check.hpp"
#include "clean.hpp"
#include "rows.hpp"
#include "session.hpp"
#include "wake.hpp"

extern "C" {
#include "executor/instrument.h"
}

namespace distlock::txn {
namespace {

// A queue to wake, by the savepoint that touched it.  A stack: what a subtransaction added lies on
// top.
struct Touched {
    uint64 queue;
    bool only_granted;
    SubTransactionId owner;
    Touched *below;
};

struct TouchedSlot {
    uint64 queue;
    Touched *entry;
};

constinit Touched *touched_top = nullptr;
constinit Touched *rolled_back = nullptr;  // waiting for their savepoint's locks to be released
constinit int touched_count = 0;
constinit HTAB *touched_set = nullptr;

// What decides how the commit is flushed.
struct Writes {
    bool durable;       // a grant or renewal that must be flushed
    bool other;         // a grant that need not be
    bool released;      // at least one release
    bool only_ours;     // nobody else has written WAL or taken a transaction id before our writes
    int64 wal_records;  // pgWalUsage after our last write
};
constinit Writes writes{};
constinit int usual_flush = -1;  // synchronous_commit while it is lowered for one commit
constinit bool cleaning = false;

// A few are searched one by one, many through a set.
constexpr int kFew = 16;

void add_to_set(Touched *entry) {
    static_cast<TouchedSlot *>(hash_search(touched_set, &entry->queue, HASH_ENTER, nullptr))
        ->entry = entry;
}

void build_touched_set() {
    touched_set = pg::transaction_table<TouchedSlot>("distlock touched locks", 4 * kFew);
    for (Touched *t = touched_top; t != nullptr; t = t->below) add_to_set(t);
}

// What an aborted savepoint touched has been taken off, so whatever is found belongs to this
// subtransaction or to one around it.
Touched *find_touched(uint64 queue) {
    if (touched_count > kFew) {
        if (touched_set == nullptr) build_touched_set();
        const auto *slot =
            static_cast<TouchedSlot *>(hash_search(touched_set, &queue, HASH_FIND, nullptr));
        return slot != nullptr ? slot->entry : nullptr;
    }
    Touched *entry = touched_top;
    while (entry != nullptr && entry->queue != queue) entry = entry->below;
    return entry;
}

// One transaction must not starve the server's lock table.
void report_budget() {
    ereport(ERROR, errcode(ERRCODE_OUT_OF_MEMORY),
            errmsg("too many distinct locks in one transaction"),
            errdetail("It uses %d and may use %d, half of what the server's lock table holds.",
                      touched_count, lock_budget()),
            errhint("Use smaller transactions, or one lock for a whole group of rows, or increase "
                    "max_locks_per_transaction."));
}

// The savepoint is gone: so are its locks, and with them its checks.
void forget_subtransaction(SubTransactionId sub) {
    checks::forget(sub);
    // The subtransaction's locks go right after this callback: release_callback wakes then.
    while (touched_top != nullptr && touched_top->owner == sub) {
        Touched *entry = touched_top;
        touched_top = entry->below;
        touched_count--;
        if (touched_set != nullptr)
            (void)hash_search(touched_set, &entry->queue, HASH_REMOVE, nullptr);
        entry->below = rolled_back;
        rolled_back = entry;
    }
}

void adopt_subtransaction(SubTransactionId sub, SubTransactionId parent) {
    checks::adopt(sub, parent);
    for (Touched *t = touched_top; t != nullptr && t->owner == sub; t = t->below) t->owner = parent;
}

void subxact_callback(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB) {
        forget_subtransaction(sub);
        abort_session_changes(sub);
    }
    if (event == SUBXACT_EVENT_COMMIT_SUB) {
        adopt_subtransaction(sub, parent);
        adopt_session_changes(sub, parent);
    }
}

// The variable alone would not set the wait mode for synchronous standbys: the setting's assign
// hook does, and its local value ends with this transaction.
void flush_commit() {
    if (synchronous_commit < SYNCHRONOUS_COMMIT_ON)
        (void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_LOCAL, true, 0, false);
}

// To wait for nothing the variable is enough, and much cheaper: a changed setting makes the end of
// the transaction look at all settings.
void do_not_flush_commit() {
    usual_flush = synchronous_commit;
    synchronous_commit = SYNCHRONOUS_COMMIT_OFF;
}

void restore_flush() {
    if (usual_flush >= 0) synchronous_commit = usual_flush;
    usual_flush = -1;
}

void choose_flush() {
    // A release that a crash undoes costs one TTL at most; a grant that need not be durable asked
    // for just that.
    const bool nothing_durable = (writes.released || writes.other) && writes.only_ours &&
                                 pgWalUsage.wal_records == writes.wal_records;
    if (writes.durable)
        flush_commit();
    else if (nothing_durable)
        do_not_flush_commit();
}

void refuse_prepare() {
    if (touched_top == nullptr) return;
    ereport(
        ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
        errmsg("cannot prepare a transaction that holds locks of distlock"),
        errdetail("A prepared transaction would pin the lock without a process that could be "
                  "evicted."),
        errhint("Acquire, renew, release or fence in a transaction of its own, or use COMMIT."));
}

void reset() {
    keep_table_locks(true);
    touched_count = 0;
    touched_set = nullptr;
    checks::reset();
    writes = {};
    cleaning = false;
}

void xact_callback(XactEvent event, void *) {
    switch (event) {
        case XACT_EVENT_PRE_COMMIT:
            if (cleaning) clean_some();
            take_session_locks();
            choose_flush();
            break;
        case XACT_EVENT_PRE_PREPARE:
            refuse_prepare();
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PREPARE:
            restore_flush();
            end_session_changes(event == XACT_EVENT_COMMIT);
            reset();
            break;
        default:
            break;
    }
}

// Takes the list before it wakes: the callback fires once per child resource owner.  A grant that
// stands makes room for nobody, so the head of the queue need not look.
void wake_all(Touched *&list, bool committed) {
    Touched *entry = list;
    list = nullptr;
    for (; entry != nullptr; entry = entry->below)
        wake(entry->queue, committed && entry->only_granted ? Wake::kWatchers : Wake::kAll);
}

void release_callback(ResourceReleasePhase phase, bool committed, bool top_level, void *) {
    if (phase != RESOURCE_RELEASE_AFTER_LOCKS) return;
    wake_all(rolled_back, false);
    if (top_level) wake_all(touched_top, committed);
}

}  // namespace

void register_callbacks() {
    RegisterXactCallback(xact_callback, nullptr);
    RegisterSubXactCallback(subxact_callback, nullptr);
    RegisterResourceReleaseCallback(release_callback, nullptr);
}

void touch(std::string_view name, bool granted) {
    const uint64 queue = queue_of(name);
    if (Touched *known = find_touched(queue)) {
        known->only_granted &= granted;
        return;
    }
    if (touched_count >= lock_budget()) report_budget();
    auto *entry = static_cast<Touched *>(pg::in_transaction(sizeof(Touched)));
    *entry = {queue, granted, GetCurrentSubTransactionId(), touched_top};
    touched_top = entry;
    touched_count++;
    if (touched_set != nullptr) add_to_set(entry);
}

void require_room(std::size_t locks) {
    if (locks > static_cast<std::size_t>(room())) report_budget();
}

int room() { return std::max(0, lock_budget() - touched_count); }

bool touched() { return touched_top != nullptr; }

void before_write() {
    const bool first = !writes.durable && !writes.other && !writes.released;
    if (first)
        writes.only_ours = !TransactionIdIsValid(GetTopTransactionIdIfAny());
    else if (pgWalUsage.wal_records != writes.wal_records)
        writes.only_ours = false;
}

void after_write(Write kind) {
    writes.durable |= kind == Write::kDurable;
    writes.other |= kind == Write::kUndurable;
    writes.released |= kind == Write::kRelease;
    writes.wal_records = pgWalUsage.wal_records;
}

void clean_at_commit() { cleaning = true; }

}  // namespace distlock::txn
