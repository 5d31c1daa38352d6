// functions.cpp - the SQL-callable functions: check the arguments, call one thing, return.
#include "arguments.hpp"
#include "clean.hpp"
#include "fence.hpp"
#include "renew.hpp"
#include "settings.hpp"
#include "token.hpp"
#include "wait.hpp"

namespace distlock {
namespace {

// The lock's name, checked against the prefix grants too.
std::string_view allowed_name(FunctionCallInfo fcinfo) {
    const std::string_view name = name_argument(fcinfo, 0);
    check_prefix(name);
    return name;
}

// A holder may raise its token to what another server handed out, not burn the numbers: the bound
// is the clock, so it holds over any number of calls.
void check_reach(int64 to_token) {
    constexpr int64 kReach = USECS_PER_DAY;
    const int64 limit = clock_token() + kReach;
    if (to_token <= limit) return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("token " INT64_FORMAT " is too far ahead", to_token),
            errdetail("Tokens follow the clock; here they may be raised to " INT64_FORMAT
                      ", a day ahead of it.",
                      limit),
            errhint("Check the clocks of the servers; an administrator can use "
                    "distlock.advance_token."));
}

Datum no_result(FunctionCallInfo fcinfo) {
    fcinfo->isnull = true;
    return Datum{0};
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_try_acquire) {
    const std::string_view name = allowed_name(fcinfo);
    if (fcinfo->args[2].isnull) report_null("wait of try_acquire");
    const int64 token = acquire_within(options_of(fcinfo, "try_acquire", name, 0));
    return token != 0 ? Int64GetDatum(token) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_acquire) {
    const std::string_view name = allowed_name(fcinfo);
    const Request request = options_of(fcinfo, "acquire", name, max_wait_us());
    const int64 token = acquire_within(request);
    if (token == 0) report_not_got(request);
    return Int64GetDatum(token);
}

DISTLOCK_FUNCTION(distlock_renew) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    const int64 ttl = ttl_argument(fcinfo, 2).value_or(0);
    check_writable("renew");
    const auto expires = renew_lease(name, token, ttl, true);
    return expires ? TimestampTzGetDatum(*expires) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_release) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("release");
    return pg::text_datum(release_lease(name, token, false));
}

DISTLOCK_FUNCTION(distlock_force_release) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("force_release");
    return pg::text_datum(release_lease(name, token, true));
}

DISTLOCK_FUNCTION(distlock_fence) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    check_primary("fence");
    fence(name, token, false, {});
    return Int64GetDatum(token);
}

DISTLOCK_FUNCTION(distlock_is_current) {
    const std::string_view name = name_argument(fcinfo, 0);
    const int64 token = token_argument(fcinfo, 1);
    check_primary("is_current");
    return BoolGetDatum(is_current(name, token, false));
}

DISTLOCK_FUNCTION(distlock_prune) {
    const auto older_than = span_argument(fcinfo, 0, "older_than");
    check_writable("prune");
    return Int64GetDatum(prune(older_than.value_or(int64{settings::retention()} * 1000)));
}

DISTLOCK_FUNCTION(distlock_downgrade) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("downgrade");
    const auto expires = downgrade_lease(name, token);
    return expires ? TimestampTzGetDatum(*expires) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_raise_token) {
    const std::string_view name = allowed_name(fcinfo);
    const int64 token = token_argument(fcinfo, 1);
    const int64 to_token = token_argument(fcinfo, 2);
    check_writable("raise_token");
    check_reach(to_token);
    const auto raised = raise_lease(name, token, to_token);
    return raised ? Int64GetDatum(*raised) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_advance_token) {
    const int64 at_least = token_argument(fcinfo, 0);
    check_writable("advance_token");
    return Int64GetDatum(advance_token(at_least));
}
