// event.hpp - NOTIFY distlock for what happens to locks, when distlock.notify is on.
#pragma once
#include "lease.hpp"

namespace distlock {

enum class Event { kGranted, kReleased, kExpired, kForced };

// Sent at commit.  Never makes the transaction fail: with a queue half full it is left out.
void announce(Event event, std::string_view name, const Lease &lease);

}  // namespace distlock
