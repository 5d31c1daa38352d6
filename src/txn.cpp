// txn.cpp - transaction state, and the callbacks at its end.
//
// Order at the end of a transaction: XACT_EVENT_PRE_COMMIT (everything that may refuse or write),
// XACT_EVENT_COMMIT or ABORT (too late to refuse, our locks still held), then the resource-release
// callback, phase AFTER_LOCKS: only there may waiters be woken, since one woken earlier would find
// the lock still taken and sleep again.
#include "txn.hpp"

#include "clean.hpp"
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
    SubTransactionId owner;
    Touched *below;
};

constinit Touched *touched_top = nullptr;
constinit Touched *rolled_back = nullptr;  // waiting for their savepoint's locks to be released
constinit Check *check_top = nullptr;
constinit HTAB *checks = nullptr;
constinit int checks_made = 0;
constinit uint64 check_generation = 1;

// What decides how the commit is flushed.
struct Writes {
    bool durable;       // a grant or renewal that must be flushed
    bool other;         // a grant that need not be
    bool released;      // at least one release
    bool only_ours;     // nobody else has written WAL or taken a transaction id before our writes
    int64 wal_records;  // pgWalUsage after our last write
};
constinit Writes writes{};
constinit bool cleaning = false;

struct CheckSlot {
    uint64 hash;
    Check *top;
};

void *in_transaction(std::size_t size) { return MemoryContextAlloc(TopTransactionContext, size); }

CheckSlot *check_slot(uint64 hash, HASHACTION action) {
    if (checks == nullptr) {
        if (action == HASH_FIND) return nullptr;
        HASHCTL control{};
        control.keysize = sizeof(uint64);
        control.entrysize = sizeof(CheckSlot);
        control.hcxt = TopTransactionContext;
        checks = hash_create("distlock fence checks", 16, &control,
                             HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found = false;
    auto *slot = static_cast<CheckSlot *>(hash_search(checks, &hash, action, &found));
    if (!found && slot != nullptr) slot->top = nullptr;
    return slot;
}

// Two names may share a hash: their entries share the chain.
Check *newest(uint64 hash, std::string_view name) {
    const CheckSlot *slot = check_slot(hash, HASH_FIND);
    Check *check = slot == nullptr ? nullptr : slot->top;
    while (check != nullptr && check->name != name) check = check->shadowed;
    return check;
}

void push_check(std::string_view name, uint64 hash, int64 token, int64 expires_boot) {
    Check *standing = newest(hash, name);
    if (standing != nullptr) check_generation++;
    if (standing != nullptr && standing->owner == GetCurrentSubTransactionId()) {
        standing->token = token;
        standing->expires_boot = expires_boot;
        return;
    }
    char *copy = static_cast<char *>(in_transaction(name.size() + 1));
    memcpy(copy, name.data(), name.size());
    CheckSlot *slot = check_slot(hash, HASH_ENTER);
    auto *check = static_cast<Check *>(in_transaction(sizeof(Check)));
    *check = {{copy, name.size()},          hash,      token,    expires_boot,
              GetCurrentSubTransactionId(), slot->top, check_top};
    slot->top = check;
    check_top = check;
    checks_made++;
}

// The savepoint is gone: so are its locks, and with them its checks.
void forget_subtransaction(SubTransactionId sub) {
    for (; check_top != nullptr && check_top->owner == sub; check_top = check_top->below) {
        check_slot(check_top->hash, HASH_FIND)->top = check_top->shadowed;
        checks_made--;
    }
    // The subtransaction's locks go right after this callback: release_callback wakes then.
    while (touched_top != nullptr && touched_top->owner == sub) {
        Touched *entry = touched_top;
        touched_top = entry->below;
        entry->below = rolled_back;
        rolled_back = entry;
    }
    check_generation++;
}

void adopt_subtransaction(SubTransactionId sub, SubTransactionId parent) {
    for (Check *c = check_top; c != nullptr && c->owner == sub; c = c->below) c->owner = parent;
    for (Touched *t = touched_top; t != nullptr && t->owner == sub; t = t->below) t->owner = parent;
}

void subxact_callback(SubXactEvent event, SubTransactionId sub, SubTransactionId parent, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB) forget_subtransaction(sub);
    if (event == SUBXACT_EVENT_COMMIT_SUB) adopt_subtransaction(sub, parent);
}

void set_synchronous_commit(const char *value) {
    (void)set_config_option("synchronous_commit", value, PGC_USERSET, PGC_S_SESSION,
                            GUC_ACTION_LOCAL, true, 0, false);
}

// The variable alone would not set the wait mode for synchronous standbys: the setting's assign
// hook does, and its local value ends with this transaction.
void choose_flush() {
    if (writes.durable) {
        if (synchronous_commit < SYNCHRONOUS_COMMIT_ON) set_synchronous_commit("on");
    } else if (writes.released && !writes.other && writes.only_ours &&
               pgWalUsage.wal_records == writes.wal_records) {
        // A release that a crash undoes costs one TTL at most.
        if (synchronous_commit != SYNCHRONOUS_COMMIT_OFF) set_synchronous_commit("off");
    }
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
    check_top = nullptr;
    checks = nullptr;
    checks_made = 0;
    check_generation++;
    writes = {};
    cleaning = false;
}

void xact_callback(XactEvent event, void *) {
    switch (event) {
        case XACT_EVENT_PRE_COMMIT:
            if (cleaning) clean_some();
            choose_flush();
            break;
        case XACT_EVENT_PRE_PREPARE:
            refuse_prepare();
            break;
        case XACT_EVENT_COMMIT:
        case XACT_EVENT_ABORT:
        case XACT_EVENT_PREPARE:
            reset();
            break;
        default:
            break;
    }
}

// Takes the list before it wakes: the callback fires once per child resource owner.
void wake_all(Touched *&list) {
    Touched *entry = list;
    list = nullptr;
    for (; entry != nullptr; entry = entry->below) wake(entry->queue);
}

void release_callback(ResourceReleasePhase phase, bool, bool top_level, void *) {
    if (phase != RESOURCE_RELEASE_AFTER_LOCKS) return;
    wake_all(rolled_back);
    if (top_level) wake_all(touched_top);
}

}  // namespace

void register_callbacks() {
    RegisterXactCallback(xact_callback, nullptr);
    RegisterSubXactCallback(subxact_callback, nullptr);
    RegisterResourceReleaseCallback(release_callback, nullptr);
}

void touch(std::string_view name) {
    const uint64 queue = queue_of(name);
    const SubTransactionId sub = GetCurrentSubTransactionId();
    if (touched_top != nullptr && touched_top->queue == queue && touched_top->owner == sub) return;
    auto *entry = static_cast<Touched *>(in_transaction(sizeof(Touched)));
    *entry = {queue, sub, touched_top};
    touched_top = entry;
}

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

Check *find_check(std::string_view name) {
    if (check_top == nullptr) return nullptr;
    Check *check = newest(lock_hash(name, 0), name);
    return check != nullptr && check->token != 0 ? check : nullptr;
}

void add_check(std::string_view name, int64 token, int64 expires_boot) {
    push_check(name, lock_hash(name, 0), token, expires_boot);
}

void drop_check(std::string_view name) {
    if (check_top != nullptr && newest(lock_hash(name, 0), name) != nullptr)
        push_check(name, lock_hash(name, 0), 0, 0);
}

uint64 generation() { return check_generation; }

int check_count() { return checks_made; }

}  // namespace distlock::txn
