// txn.hpp - what the current transaction has done with locks, kept right across savepoints.
//
// Two things hang on it: who is woken when the transaction's locks are gone, and how its commit is
// flushed (check.hpp has a third).  All of it lives in TopTransactionContext and goes with the
// transaction; what a savepoint added goes with ROLLBACK TO that savepoint.
#pragma once
#include "pg.hpp"

namespace distlock::txn {

// Registers the transaction callbacks; once, from _PG_init.
void register_callbacks();

// Remembers that this transaction holds a lock of ours on the name: its waiters are woken at the
// end (commit, abort, or rollback to the savepoint), after the locks are released.  `granted`: by
// the grant just made, whose commit concerns watchers only.  Error when the transaction uses as
// many as it may.
void touch(std::string_view name, bool granted = false);
// How many more it may use; error when there is no room for that many.
int room();
void require_room(std::size_t locks);

// Whether the transaction has pinned, granted, renewed or released something that still stands.
bool touched();

// How the commit must be made.  Call before_write() before our first write of a call, after_write()
// behind the last: a transaction that did nothing but release, or grant what need not be durable,
// commits asynchronously.
enum class Write { kDurable, kUndurable, kRelease };
void before_write();
void after_write(Write kind);

// A grant was made: this transaction's commit cleans up a little (clean.hpp).
void clean_at_commit();

}  // namespace distlock::txn
