// clean.hpp - removing the rows of locks that have been free for long.
//
// There is no background process: transactions that acquire remove a few rows at their own
// pre-commit, from a block chosen at random, so that every block gets its turn.
#pragma once
#include "pg.hpp"

namespace distlock {

// At pre-commit of a transaction that made a grant; usually does nothing.  Never waits, never fails
// the commit because of somebody else's row.
void clean_some();

// Removes rows that have been free for longer than `older_than` microseconds, up to what one
// transaction may lock; the number removed.
int64 prune(int64 older_than);

}  // namespace distlock
