// session.hpp - session-bound grants: they end with the connection that made them.
//
// At pre-commit of the grant its session takes a session-level lock of class 0xD3 on the name and
// the token; whoever can get that lock knows that the session is gone.  The lock is released once
// the grant's release has committed.  On exit the session wakes the queues of what it held; its
// session locks are gone by then.
#pragma once
#include "lease.hpp"

namespace distlock {

// A head looks again this often at a session-bound grant: DISCARD ALL drops the lock silently.
inline constexpr int64 kSessionRecheck = 1000000;

// Whether the session that made this grant has ended, or has dropped its locks.
bool session_is_gone(const Lease &lease);

// This transaction grants, or releases, a session-bound lease; undone with its savepoint.
void bind_to_session(std::string_view name, int64 token);
void unbind_from_session(std::string_view name, int64 token);
// Unbinds what this session holds of the lock that is no grant of it any more.
void unbind_lost(std::string_view name);

// Parts of the transaction's end, called by txn.cpp.
void take_session_locks();                 // at pre-commit
void end_session_changes(bool committed);  // at commit or abort
void abort_session_changes(SubTransactionId sub);
void adopt_session_changes(SubTransactionId sub, SubTransactionId parent);

}  // namespace distlock
