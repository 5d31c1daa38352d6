// arguments.cpp - see arguments.hpp.
#include "arguments.hpp"

#include <algorithm>

#include "report.hpp"
#include "settings.hpp"
#include "template.hpp"

extern "C" {
#include "common/int.h"
#include "datatype/timestamp.h"
}

namespace distlock {
namespace {

constexpr int64 kMinTtl = 10000;  // microseconds

[[noreturn]] void report_null(const char *what) {
    ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be null", what),
            errdetail("A null here is a caller's mistake, so it is no answer like \"not got\"."),
            errhint("Check the variable that the caller passes."));
    pg_unreachable();
}

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

void check_supported(const Request &request) {
    const char *what = request.mode == Mode::kShared ? "mode \"shared\""
                       : request.capacity != 1       ? "capacity other than 1"
                       : request.session_bound       ? "session_bound"
                                                     : nullptr;
    if (what == nullptr) return;
    ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s is not supported yet", what),
            errdetail("This version of distlock has exclusive locks only."),
            errhint("Leave the argument out."));
}

}  // namespace

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

Request request_arguments(FunctionCallInfo fcinfo, int options) {
    Request request{};
    request.name = name_argument(fcinfo, 0);
    const int64 default_ttl = int64{settings::default_ttl()} * 1000;
    request.ttl =
        ttl_argument(fcinfo, 1).value_or(std::min(default_ttl, int64{settings::max_ttl()} * 1000));
    const auto argument = [&](int i) { return fcinfo->args[options + i]; };
    if (!argument(0).isnull) request.owner = DatumGetTextPP(argument(0).value);
    request.mode = mode_argument(fcinfo, options + 1);
    request.capacity = pg::arg<int32>(fcinfo, options + 2).value_or(1);
    request.min_hold = span_argument(fcinfo, options + 3, "min_hold").value_or(0);
    request.lock_delay = span_argument(fcinfo, options + 4, "lock_delay").value_or(0);
    if (!argument(5).isnull) request.metadata = PG_DETOAST_DATUM(argument(5).value);
    request.request_id = pg::arg<const pg_uuid_t *>(fcinfo, options + 6).value_or(nullptr);
    request.session_bound = pg::arg<bool>(fcinfo, options + 7).value_or(false);
    request.durable = pg::arg<bool>(fcinfo, options + 8).value_or(true);
    request.role = GetOuterUserId();
    check_supported(request);
    return request;
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
