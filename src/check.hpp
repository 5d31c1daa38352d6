// check.hpp - the fence checks that the current transaction need not repeat.
//
// A token that has passed stays good to the end of the transaction, since its lock is pinned until
// then, unless a grant or release of one's own says otherwise.  All of it lives in
// TopTransactionContext and goes with the transaction; what a savepoint added goes with ROLLBACK TO
// that savepoint.
#pragma once
#include "pg.hpp"

namespace distlock::checks {

// What a name is the name of: a lock of this database, or a resource with a high-water mark.
enum class Realm : int64 { kLock = 0, kResource = -2 };

struct Check {
    Realm realm;
    std::string_view name;
    uint64 hash;
    int64 token;         // 0 = the check was dropped
    int64 expires_boot;  // when the lease ends, as of the check
    CommandId command;   // of the check
    SubTransactionId owner;
    Check *below;     // next on the transaction's stack of checks
    Check *shadowed;  // next with the same hash, once there are many
};

// The standing check, or null.
Check *find(std::string_view name, Realm realm = Realm::kLock);
void add(std::string_view name, int64 token, int64 expires_boot, Realm realm = Realm::kLock);
// After a grant or release of our own the old check says nothing any more.
void drop(std::string_view name);
// Changes whenever a remembered Check pointer may have become wrong.
uint64 generation();

// At the end of a subtransaction or transaction.
void forget(SubTransactionId sub);
void adopt(SubTransactionId sub, SubTransactionId parent);
void reset();

}  // namespace distlock::checks
