// mark.hpp - high-water marks: the fence for tokens of another database or another product (etcd
// revision, ZooKeeper zxid, Consul LockIndex).
//
// The highest token seen for a resource is remembered for ever; lower ones are refused.  Writers
// hold RowExclusive on the tag of resource and token (class 0xD4) to the end of their transaction,
// so equal ones do not block one another.  A raise also holds Share on the tag of the mark as it
// was: it waits for writers under that one, and they for it.  Several may raise to one token at
// once, each by a row of its own; what else is being raised is waited for.
#pragma once
#include "fence.hpp"

namespace distlock {

// LK001 when `token` is lower than the mark; raises the mark when it is higher.
void pass_mark(std::string_view resource, int64 token, const Site &site);

// Whether the token is not lower than the mark, by a read without locks.
bool reaches_mark(std::string_view resource, int64 token);

}  // namespace distlock
