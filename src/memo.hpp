// memo.hpp - where this session's own grants lie, so that renewing, releasing or fencing one finds
// its row without the index.
//
// What is remembered proves nothing: the row is read anew each time, without a lock first and then
// under the caller's, as by everybody else (renew.hpp).  Only a living exclusive grant is answered
// from it: while that stands no other grant can be made, so this one row says all that the rows of
// its lock would.
#pragma once
#include "lease.hpp"

namespace distlock {

// Remembers where a grant was written by this session.
void remember(const Lease &grant, const Place &place);

// Locks slot 0 in `mode` to the end of the transaction and reads the grant under that lock.  Null =
// look it up the usual way: the session does not know its place, or it is not (or not surely) the
// living grant (then nothing is locked), or somebody is in the way.  42501 unless the acting role
// may do what `verb` says; a null verb needs no right.
Lease *lock_remembered(std::string_view name, int64 token, LOCKMODE mode, const char *verb);

}  // namespace distlock
