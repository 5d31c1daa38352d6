// errors.hpp - our own SQLSTATEs.  Class LK is free for implementers; 40001 and 40P01 are never
// used for refusals of ours, since frameworks retry those and would replay a stale writer.
#pragma once
#include "pg.hpp"

namespace distlock {

// The presented token is not the lock's current grant: a newer one exists, or it has been over too
// long.
inline constexpr int kStaleToken = MAKE_SQLSTATE('L', 'K', '0', '0', '1');
// A write to a protected table came without a token.
inline constexpr int kNoToken = MAKE_SQLSTATE('L', 'K', '0', '0', '2');

}  // namespace distlock
