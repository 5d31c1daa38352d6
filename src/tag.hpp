// tag.hpp - the heavyweight locks under which decisions are made.
//
// A private advisory space: LOCKTAG_ADVISORY(database, 64-bit hash, class); SQL's own advisory
// functions use classes 1 and 2.  The hash is keyed with a secret of the cluster, so nobody can
// build names that collide.  It only orders access: the name in the table is the identity, and a
// collision makes two locks wait for each other, nothing else.  Nothing is stored under it.
//
// All locks belong to the current (sub)transaction's resource owner, however they were taken, so
// they can be released by a later call and go with the savepoint that took them.
#pragma once
#include "pg.hpp"

namespace distlock {

enum class LockClass : uint16 {
    kSlot = 0xD1,       // one slot of a lock; slot 0 stands for the name
    kTurnstile = 0xD2,  // the queue of a name
    kSession = 0xD3,    // a session-bound grant: name and token
    kResource = 0xD4,   // a resource with a high-water mark
    kRequest = 0xD5,    // a request_id of a shared grant or a permit
};

// Secret-keyed hash of a name and a number (slot or token).
uint64 lock_hash(std::string_view name, int64 number);

LOCKTAG lock_tag(LockClass lock_class, uint64 hash);

inline LOCKTAG slot_tag(std::string_view name, int32 slot) {
    return lock_tag(LockClass::kSlot, lock_hash(name, slot));
}

// Takes the lock if nobody is in the way.
bool lock_now(const LOCKTAG &tag, LOCKMODE mode);

// The same, waiting in the lock's queue for at most `ms`, or without limit when `ms` is 0.
// statement_timeout and cancellation still count, lock_timeout and deadlock_timeout do not.
bool lock_within(const LOCKTAG &tag, LOCKMODE mode, int ms);

void unlock(const LOCKTAG &tag, LOCKMODE mode);

// The backends whose locks on `tag` conflict with `mode`; ends with an invalid id.  Ours are not
// among them.
VirtualTransactionId *lock_holders(const LOCKTAG &tag, LOCKMODE mode, int *count);

// How many of the server's lock table one transaction of ours may use: half.
int lock_budget();

}  // namespace distlock
