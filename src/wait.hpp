// wait.hpp - waiting: for a lock in the order of arrival, for several locks, for a change of
// holder.
#pragma once
#include "grant.hpp"

namespace distlock {

// The token, or 0 when the lock could not be got within request.wait.
int64 acquire_within(const Request &request);

// All locks or none, tried in the given order, which must be the same for all callers; tokens to
// `tokens`.  It waits for one busy lock at a time and holds nothing meanwhile.  False = not got
// within requests[0].wait; *busy is then the index of the lock in the way.
bool acquire_all_within(std::span<const Request> requests, int64 *tokens, std::size_t *busy);

// Waits until the lock's standing token is another than `after`, 0 standing for nobody's; the
// token, or nullopt when nothing has changed within `wait`.
std::optional<int64> watch_token(std::string_view name, int64 after, int64 wait);

}  // namespace distlock
