// functions.cpp - the SQL-callable functions: check the arguments, call one thing, return.
#include "arguments.hpp"
#include "clean.hpp"
#include "fence.hpp"
#include "renew.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "token.hpp"
#include "wait.hpp"

extern "C" {
#include "replication/syncrep.h"
}

namespace distlock {
namespace {

Datum no_result(FunctionCallInfo fcinfo) {
    fcinfo->isnull = true;
    return Datum{0};
}

// The order of the arguments: name, ttl, wait, then OPTIONS.
constexpr int kWait = 2;
constexpr int kOptions = 3;

void check_standby_rule() {
    if (!settings::require_sync_standby() || SyncRepStandbyNames[0] != '\0') return;
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("refusing to grant without a synchronous standby"),
            errdetail("distlock.require_sync_standby is on and synchronous_standby_names is empty, "
                      "so this may be an old primary that was cut off."),
            errhint("Configure synchronous_standby_names, or turn the setting off."));
}

int64 wait_argument(FunctionCallInfo fcinfo, int64 when_null) {
    const int64 wait = span_argument(fcinfo, kWait, "wait").value_or(when_null);
    const int64 limit = int64{settings::max_wait()} * 1000;
    if (wait <= limit) return wait;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("wait is longer than distlock.max_wait"),
            errdetail("A wait of %s was asked for, the limit is %s: a waiting SELECT holds back "
                      "vacuum in the whole database.",
                      seconds(wait), seconds(limit)),
            errhint("Use CALL distlock.acquire_long for long waits."));
    pg_unreachable();
}

Request request_of(FunctionCallInfo fcinfo, const char *function, int64 wait_when_null) {
    Request request = request_arguments(fcinfo, kOptions);
    request.wait = wait_argument(fcinfo, wait_when_null);
    check_writable(function);
    PreventCommandIfParallelMode(function);
    check_standby_rule();
    return request;
}

void report_not_got(const Request &request) {
    ereport(
        ERROR, errcode(ERRCODE_LOCK_NOT_AVAILABLE),
        errmsg("could not acquire lock \"%.*s\" within %s", static_cast<int>(request.name.size()),
               request.name.data(), seconds(request.wait)),
        errdetail("%s", lock_facts(request.name, read_lock(request.name))),
        errhint("Try again later; views distlock.locks and distlock.waiters show who is in "
                "the way."));
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_try_acquire) {
    const int64 token = acquire_within(request_of(fcinfo, "try_acquire", 0));
    return token != 0 ? Int64GetDatum(token) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_acquire) {
    const Request request = request_of(fcinfo, "acquire", int64{settings::max_wait()} * 1000);
    const int64 token = acquire_within(request);
    if (token == 0) report_not_got(request);
    return Int64GetDatum(token);
}

DISTLOCK_FUNCTION(distlock_renew) {
    const std::string_view name = name_argument(fcinfo, 0);
    const int64 token = token_argument(fcinfo, 1);
    const int64 ttl = ttl_argument(fcinfo, 2).value_or(0);
    check_writable("renew");
    const auto expires = renew_lease(name, token, ttl, true);
    return expires ? TimestampTzGetDatum(*expires) : no_result(fcinfo);
}

DISTLOCK_FUNCTION(distlock_release) {
    const std::string_view name = name_argument(fcinfo, 0);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("release");
    return pg::text_datum(release_lease(name, token, false));
}

DISTLOCK_FUNCTION(distlock_force_release) {
    const std::string_view name = name_argument(fcinfo, 0);
    const int64 token = token_argument(fcinfo, 1);
    check_writable("force_release");
    return pg::text_datum(release_lease(name, token, true));
}

DISTLOCK_FUNCTION(distlock_fence) {
    const std::string_view name = name_argument(fcinfo, 0);
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

DISTLOCK_FUNCTION(distlock_advance_token) {
    const int64 at_least = token_argument(fcinfo, 0);
    check_writable("advance_token");
    return Int64GetDatum(advance_token(at_least));
}
