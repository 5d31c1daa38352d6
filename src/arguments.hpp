// arguments.hpp - checking what SQL callers pass.  Bad input is refused with 22023 or 22004 before
// anything is read, locked or written; nothing is clamped.
#pragma once
#include "grant.hpp"

namespace distlock {

// Not null and 1 to 512 bytes.
std::string_view name_argument(FunctionCallInfo fcinfo, int i);

// Not null; any number may come in, since a token is only ever compared.
int64 token_argument(FunctionCallInfo fcinfo, int i);

// A length of time in microseconds; finite, without months, not negative.  nullopt = NULL.
std::optional<int64> span_argument(FunctionCallInfo fcinfo, int i, const char *what);

// A ttl in microseconds within the allowed range; nullopt = NULL.
std::optional<int64> ttl_argument(FunctionCallInfo fcinfo, int i);

// The arguments common to the acquire functions, from `OPTIONS` of their signature on.
Request request_arguments(FunctionCallInfo fcinfo, int options);

// 25006 on a standby and in a read-only transaction.
void check_writable(const char *function);

// 25006 on a standby, whose rows are old.
void check_primary(const char *function);

}  // namespace distlock
