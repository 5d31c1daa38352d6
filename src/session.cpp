// session.cpp - see session.hpp.
#include "session.hpp"

#include "wake.hpp"

extern "C" {
#include "storage/ipc.h"
}

namespace distlock {
namespace {

// A binding of this session that stands: kept so that the exit can wake, newest first.
struct Bound {
    uint64 queue;
    uint64 key;
    int64 token;
    Bound *next;
};
constinit Bound *bound = nullptr;

// What the current transaction is changing.  A stack by subtransaction, as in txn.cpp.
struct Change {
    uint64 queue;
    uint64 key;
    int64 token;
    bool bind;
    bool locked;     // the session lock has been taken (pre-commit)
    Bound *binding;  // allocated before the commit, which must not run out of memory
    SubTransactionId owner;
    Change *below;
};
constinit Change *changes = nullptr;
constinit bool exit_registered = false;

LOCKTAG session_tag(uint64 key) { return lock_tag(LockClass::kSession, key); }

void wake_on_exit(int, Datum) {
    for (const Bound *b = bound; b != nullptr; b = b->next) wake(b->queue);
}

void push(std::string_view name, int64 token, bool bind) {
    auto *change = static_cast<Change *>(MemoryContextAlloc(TopTransactionContext, sizeof(Change)));
    *change = {.queue = queue_of(name),
               .key = lock_hash(name, token),
               .token = token,
               .bind = bind,
               .locked = false,
               .binding = nullptr,
               .owner = GetCurrentSubTransactionId(),
               .below = changes};
    changes = change;
}

void remember(const Change &change) {
    *change.binding = {change.queue, change.key, change.token, bound};
    bound = change.binding;
}

// True if the session had it.
bool forget(uint64 key) {
    for (Bound **at = &bound; *at != nullptr; at = &(*at)->next) {
        if ((*at)->key != key) continue;
        Bound *entry = *at;
        *at = entry->next;
        pfree(entry);
        return true;
    }
    return false;
}

void drop_lock(uint64 key) {
    const LOCKTAG tag = session_tag(key);
    if (compat::lock_held_by_me(tag, ExclusiveLock)) (void)LockRelease(&tag, ExclusiveLock, true);
}

}  // namespace

bool session_is_gone(const Lease &lease) {
    const std::string_view name = name_of(lease);
    const LOCKTAG tag = session_tag(lock_hash(name, lease.token));
    if (RecoveryInProgress()) return false;  // session locks are on the primary
    // One's own lock would not be in one's way.
    if (compat::lock_held_by_me(tag, ExclusiveLock)) return false;
    for (const Change *c = changes; c != nullptr; c = c->below)
        if (c->bind && c->key == lock_hash(name, lease.token)) return false;
    if (!lock_now(tag, ShareLock)) return false;
    unlock(tag, ShareLock);
    return true;
}

void bind_to_session(std::string_view name, int64 token) {
    if (!exit_registered) {
        on_shmem_exit(wake_on_exit, Datum{0});
        exit_registered = true;
    }
    push(name, token, true);
}

void unbind_from_session(std::string_view name, int64 token) {
    if (bound != nullptr || changes != nullptr) push(name, token, false);
}

void unbind_lost(std::string_view name) {
    const uint64 queue = queue_of(name);
    bool any = false;
    for (const Bound *b = bound; b != nullptr; b = b->next) any |= b->queue == queue;
    if (!any) return;
    const std::span<Lease> rows = read_lock(name);
    for (const Bound *b = bound; b != nullptr; b = b->next)
        if (b->queue == queue && current_grant(rows, b->token) == nullptr)
            push(name, b->token, false);
}

void take_session_locks() {
    for (Change *c = changes; c != nullptr; c = c->below) {
        if (!c->bind) continue;
        const LOCKTAG tag = session_tag(c->key);
        (void)LockAcquire(&tag, ExclusiveLock, true, false);
        c->locked = true;
        c->binding = static_cast<Bound *>(MemoryContextAlloc(TopMemoryContext, sizeof(Bound)));
    }
}

void end_session_changes(bool committed) {
    Change *list = changes;
    changes = nullptr;
    // Newest first: of a grant and its release in one transaction, the release comes first here.
    for (Change *c = list; c != nullptr; c = c->below) {
        if (c->bind && c->locked && !committed) {
            drop_lock(c->key);
            if (c->binding != nullptr) pfree(c->binding);
        }
        if (c->bind && committed) remember(*c);
    }
    for (Change *c = list; committed && c != nullptr; c = c->below)
        if (!c->bind && forget(c->key)) drop_lock(c->key);
}

void abort_session_changes(SubTransactionId sub) {
    while (changes != nullptr && changes->owner == sub) changes = changes->below;
}

void adopt_session_changes(SubTransactionId sub, SubTransactionId parent) {
    for (Change *c = changes; c != nullptr && c->owner == sub; c = c->below) c->owner = parent;
}

}  // namespace distlock
