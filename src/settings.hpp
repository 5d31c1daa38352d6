// settings.hpp - the settings (distlock.*).  Times are milliseconds.  Getters check the value at
// use: a setting can be written before the library is loaded.
#pragma once
#include "pg.hpp"

namespace distlock::settings {

void define();

int default_ttl();            // lease length when a caller names none
int max_ttl();                // the longest lease anybody may ask for
int max_wait();               // the longest wait inside a statement
int evict_after();            // how long an ended lease may still be pinned; -1 = no termination
int retention();              // how long a free row is kept
bool notify();                // NOTIFY on the channel `distlock`
bool require_sync_standby();  // refuse to grant without a synchronous standby

}  // namespace distlock::settings
