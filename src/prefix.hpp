// prefix.hpp - keeping lock names to roles by prefix.
//
// While no granted prefix covers a name, anyone with USAGE on the schema may use it; otherwise only
// members of a role that one of the covering prefixes was granted to.
#pragma once
#include "pg.hpp"

namespace distlock {

// 42501 unless the session's role may use locks of that name.
void check_prefix(std::string_view name);

// Registers the invalidation callback; once, from _PG_init.
void watch_prefixes();

}  // namespace distlock
