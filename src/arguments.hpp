// arguments.hpp - checking what SQL callers pass.  Bad input is refused with 22023 or 22004 before
// anything is read, locked or written; nothing is clamped.
#pragma once
#include "judge.hpp"
#include "prefix.hpp"
#include "template.hpp"

namespace distlock {

// Not null and 1 to 512 bytes.
std::string_view name_argument(FunctionCallInfo fcinfo, int i);

// Not null; any number may come in, since a token is only ever compared.
int64 token_argument(FunctionCallInfo fcinfo, int i);

// A length of time in microseconds; finite, without months, not negative.  nullopt = NULL.
std::optional<int64> span_argument(FunctionCallInfo fcinfo, int i, const char *what);

// A ttl in microseconds within the allowed range; nullopt = NULL.
std::optional<int64> ttl_argument(FunctionCallInfo fcinfo, int i);

// A capacity, 1 to 10000.
int32 capacity_argument(FunctionCallInfo fcinfo, int i);

[[noreturn]] void report_null(const char *what);

// The arguments common to the acquire functions, for one name: ttl, wait (left to the caller), then
// OPTIONS.  Checks also that a grant may be made here at all: 25006, 55000.
Request request_arguments(FunctionCallInfo fcinfo, const char *function, std::string_view name);

// The same with a wait of at most distlock.max_wait.
Request options_of(FunctionCallInfo fcinfo, const char *function, std::string_view name,
                   int64 wait_when_null);
int64 max_wait_us();

// Those of begin_run: job, slot, ttl, owner, request_id.
Request run_arguments(FunctionCallInfo fcinfo);

// 55P03 with the facts.
[[noreturn]] void report_not_got(const Request &request);

// 25006 on a standby and in a read-only transaction.
void check_writable(const char *function);

// 25006 on a standby, whose rows are old.
void check_primary(const char *function);

}  // namespace distlock
