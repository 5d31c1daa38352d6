// wait.hpp - waiting for a lock in the order of arrival.
#pragma once
#include "grant.hpp"

namespace distlock {

// The token, or 0 when the lock could not be got within request.wait.
int64 acquire_within(const Request &request);

}  // namespace distlock
