// fence.hpp - the fence: a write goes on only while its token is the lock's current grant.
//
// The check pins the lock (RowExclusive on slot 0, RowShare on a slot >= 1) to the end of the
// transaction, and decides from a read made under that lock: what is current then stays current,
// since every grant needs Exclusive.  It reads no clock but to refuse.
#pragma once
#include "lease.hpp"

namespace distlock {

// Where a refused write was aimed; names for the error's SCHEMA, TABLE and CONSTRAINT fields.
struct Site {
    Relation table = nullptr;
    const char *trigger = nullptr;
};

// Fills those fields of the error being built; for use inside ereport.
int err_site(const Site &site);

// LK001 unless `token` is the lock's current grant and the session's role may use it.  A token that
// has been over for longer than distlock.evict_after is refused too; with `strict`, any expired
// one.
void fence(std::string_view name, int64 token, bool strict, const Site &site);

// For how long an ended lease that nobody has taken is still accepted, in microseconds; beyond it a
// crowd of zombies could keep a lock pinned in turn.
int64 tolerated_us();

// Whether a read without locks finds the token current.
bool is_current(std::string_view name, int64 token, bool strict);

}  // namespace distlock
