// arguments.cpp - see arguments.hpp.
#include "arguments.hpp"

#include <algorithm>

#include "report.hpp"
#include "settings.hpp"

extern "C" {
#include "common/int.h"
#include "datatype/timestamp.h"
#include "replication/syncrep.h"
}

namespace distlock {
namespace {

constexpr int64 kMinTtl = 10000;  // microseconds

// Positions of the acquire functions' arguments, the name(s) first.
constexpr int kTtl = 1;
constexpr int kWait = 2;
constexpr int kOptions = 3;

[[noreturn]] void report_span(const char *what, const Interval *span, const char *rule,
                              const char *hint) {
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s %s", what, rule),
            errdetail("The value is \"%s\".",
                      DatumGetCString(DirectFunctionCall1(interval_out, IntervalPGetDatum(span)))),
            errhint("%s", hint));
    pg_unreachable();
}

// Days count as 24 hours; months have no fixed length, and an infinite interval has all of them.
int64 to_microseconds(const char *what, const Interval *span) {
    if (span->month != 0)
        report_span(what, span, "must be a finite length of time without months or years",
                    "Write it in seconds, minutes, hours or days.");
    int64 days = 0, total = 0;
    if (pg_mul_s64_overflow(span->day, USECS_PER_DAY, &days) ||
        pg_add_s64_overflow(days, span->time, &total))
        report_span(what, span, "is out of range", "Write a shorter length of time.");
    if (total < 0) report_span(what, span, "must not be negative", "0 means at once.");
    return total;
}

Mode mode_argument(FunctionCallInfo fcinfo, int i) {
    const auto text = pg::arg<std::string_view>(fcinfo, i).value_or("exclusive");
    if (text == "exclusive") return Mode::kExclusive;
    if (text == "shared") return Mode::kShared;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("unrecognized lock mode \"%.*s\"", static_cast<int>(text.size()), text.data()),
            errdetail("Modes are \"exclusive\" and \"shared\"."),
            errhint("For a number of exclusive holders use capacity."));
    pg_unreachable();
}

void check_options(const Request &request) {
    const char *what = nullptr;
    const int64 longest = int64{settings::max_ttl()} * 1000;
    if (request.mode == Mode::kShared && request.capacity != 1)
        what = "A shared lock has no capacity: any number of holders share it.";
    else if (request.min_hold > request.ttl)
        what = "min_hold is longer than the lease, which ends it.";
    else if (request.lock_delay > longest)
        what = "lock_delay is longer than distlock.max_ttl.";
    else if (request.session_bound && request.request_id != nullptr)
        what = "A session-bound grant cannot be asked for again: it ends with its session.";
    if (what == nullptr) return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("options do not fit together"),
            errdetail("%s", what), errhint("Leave one of them out, or lower it."));
}

void check_standby_rule() {
    if (!settings::require_sync_standby() || SyncRepStandbyNames[0] != '\0') return;
    ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
            errmsg("refusing to grant without a synchronous standby"),
            errdetail("distlock.require_sync_standby is on and synchronous_standby_names is empty, "
                      "so this may be an old primary that was cut off."),
            errhint("Configure synchronous_standby_names, or turn the setting off."));
}

}  // namespace

void report_null(const char *what) {
    ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", what),
            errdetail("A null here is a caller's mistake, so it is no answer like \"not got\"."),
            errhint("Check the variable that the caller passes."));
    pg_unreachable();
}

std::string_view name_argument(FunctionCallInfo fcinfo, int i) {
    const auto name = pg::arg<std::string_view>(fcinfo, i);
    if (!name) report_null("lock name");
    check_name(*name);
    return *name;
}

int64 token_argument(FunctionCallInfo fcinfo, int i) {
    const auto token = pg::arg<int64>(fcinfo, i);
    if (!token) report_null("fencing token");
    return *token;
}

std::optional<int64> span_argument(FunctionCallInfo fcinfo, int i, const char *what) {
    const auto span = pg::arg<const Interval *>(fcinfo, i);
    return span ? std::optional<int64>(to_microseconds(what, *span)) : std::nullopt;
}

std::optional<int64> ttl_argument(FunctionCallInfo fcinfo, int i) {
    const auto span = pg::arg<const Interval *>(fcinfo, i);
    if (!span) return std::nullopt;
    const int64 ttl = to_microseconds("ttl", *span);
    if (ttl < kMinTtl)
        report_span("ttl", *span, "must be at least 10 ms", "A usual lease is 5 s to 5 min long.");
    if (ttl > int64{settings::max_ttl()} * 1000)
        report_span("ttl", *span, "is longer than distlock.max_ttl",
                    "Take a shorter lease and renew it while the work goes on.");
    return ttl;
}

int32 capacity_argument(FunctionCallInfo fcinfo, int i) {
    constexpr int32 kMost = 10000;
    const int32 capacity = pg::arg<int32>(fcinfo, i).value_or(1);
    if (capacity >= 1 && capacity <= kMost) return capacity;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("capacity must be 1 to %d", kMost), errdetail("The value is %d.", capacity),
            errhint("A capacity above 1 makes the lock a counting semaphore."));
    pg_unreachable();
}

namespace {

void check_default_ttl() {
    if (settings::default_ttl() <= settings::max_ttl()) return;
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("distlock.default_ttl is longer than distlock.max_ttl"),
            errdetail("They are %d ms and %d ms.", settings::default_ttl(), settings::max_ttl()),
            errhint("Give a ttl, or lower distlock.default_ttl."));
}

// What every request has: the name, the length of the lease, who asks.
Request bare_request(FunctionCallInfo fcinfo, std::string_view name, int ttl) {
    Request request{};
    request.name = name;
    const auto asked = ttl_argument(fcinfo, ttl);
    if (!asked) check_default_ttl();
    request.ttl = asked.value_or(int64{settings::default_ttl()} * 1000);
    request.mode = Mode::kExclusive;
    request.capacity = 1;
    request.durable = true;
    request.role = pg::acting_role();
    return request;
}

void check_grantable(const char *function) {
    check_writable(function);
    PreventCommandIfParallelMode(function);
    check_standby_rule();
}

}  // namespace

Request request_arguments(FunctionCallInfo fcinfo, const char *function, std::string_view name) {
    Request request = bare_request(fcinfo, name, kTtl);
    const auto argument = [&](int i) { return fcinfo->args[kOptions + i]; };
    if (!argument(0).isnull) request.owner = DatumGetTextPP(argument(0).value);
    request.mode = mode_argument(fcinfo, kOptions + 1);
    request.capacity = capacity_argument(fcinfo, kOptions + 2);
    request.min_hold = span_argument(fcinfo, kOptions + 3, "min_hold").value_or(0);
    request.lock_delay = span_argument(fcinfo, kOptions + 4, "lock_delay").value_or(0);
    if (!argument(5).isnull) request.metadata = PG_DETOAST_DATUM(argument(5).value);
    request.request_id = pg::arg<const pg_uuid_t *>(fcinfo, kOptions + 6).value_or(nullptr);
    request.session_bound = pg::arg<bool>(fcinfo, kOptions + 7).value_or(false);
    request.durable = pg::arg<bool>(fcinfo, kOptions + 8).value_or(true);
    check_options(request);
    check_grantable(function);
    return request;
}

Request run_arguments(FunctionCallInfo fcinfo) {
    Request request = bare_request(fcinfo, name_argument(fcinfo, 0), 2);
    if (!fcinfo->args[3].isnull) request.owner = DatumGetTextPP(fcinfo->args[3].value);
    request.request_id = pg::arg<const pg_uuid_t *>(fcinfo, 4).value_or(nullptr);
    check_grantable("begin_run");
    return request;
}

int64 max_wait_us() { return int64{settings::max_wait()} * 1000; }

Request options_of(FunctionCallInfo fcinfo, const char *function, std::string_view name,
                   int64 wait_when_null) {
    const int64 wait = span_argument(fcinfo, kWait, "wait").value_or(wait_when_null);
    if (wait > max_wait_us())
        ereport(
            ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("wait is longer than distlock.max_wait"),
            errdetail("A wait of %s was asked for, the limit is %s: a waiting SELECT holds back "
                      "vacuum in the whole database.",
                      seconds(wait), seconds(max_wait_us())),
            errhint("Use CALL distlock.acquire_long for long waits."));
    Request request = request_arguments(fcinfo, function, name);
    request.wait = wait;
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
    pg_unreachable();
}

void check_writable(const char *function) {
    check_primary(function);
    if (!XactReadOnly) return;
    ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
            errmsg("cannot execute distlock.%s in a read-only transaction", function),
            errdetail("A lock is a row that has to be written."),
            errhint("Begin the transaction READ WRITE."));
}

void check_primary(const char *function) {
    if (!RecoveryInProgress()) return;
    ereport(ERROR, errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
            errmsg("cannot execute distlock.%s on a standby server", function),
            errdetail("A standby sees locks as they were some time ago."),
            errhint("Connect to the primary, for example with target_session_attrs=read-write."));
}

}  // namespace distlock
