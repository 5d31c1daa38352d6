// mark.hpp - high-water marks: the fence for tokens of another database or another product (etcd
// revision, ZooKeeper zxid, Consul LockIndex).
//
// The highest token seen for a resource is remembered for ever; lower ones are refused.  Writers
// with the mark's token hold RowExclusive on the resource's tag (class 0xD4) to the end of their
// transaction and do not block one another; a raise takes Exclusive, so it waits for them.
#pragma once
#include "fence.hpp"

namespace distlock {

// LK001 when `token` is lower than the mark; raises the mark when it is higher.
void pass_mark(std::string_view resource, int64 token, const Site &site);

// Whether the token is not lower than the mark, by a read without locks.
bool reaches_mark(std::string_view resource, int64 token);

}  // namespace distlock
