// procedures.cpp - acquire_long and watch: waits of hours.
//
// They are procedures because only a procedure can commit and so let go of its snapshot.  While
// they wait their transaction has no snapshot and no transaction id, so vacuum and CREATE INDEX
// CONCURRENTLY go on elsewhere.
#include "arguments.hpp"
#include "report.hpp"
#include "settings.hpp"
#include "wait.hpp"

extern "C" {
#include "executor/spi.h"
}

namespace distlock {
namespace {

void begin_long_wait(FunctionCallInfo fcinfo, const char *procedure) {
    const auto *call = reinterpret_cast<const CallContext *>(fcinfo->context);
    if (call == nullptr || !IsA(call, CallContext) || call->atomic)
        ereport(ERROR, errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
                errmsg("distlock.%s cannot run inside a transaction block", procedure),
                errdetail("It commits first, so that a long wait holds no snapshot."),
                errhint("Call it in autocommit mode, or use distlock.acquire for a short wait."));
    SPI_connect_ext(SPI_OPT_NONATOMIC);
}

// Commits what came before.  At any other isolation level the first read of the new transaction
// would pin its snapshot to the end.
void commit_and_wait() {
    SPI_commit();
    XactIsoLevel = XACT_READ_COMMITTED;
}

Datum inout_token(FunctionCallInfo fcinfo, std::optional<int64> token) {
    TupleDesc description = nullptr;
    if (get_call_result_type(fcinfo, nullptr, &description) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "return type must be a row type");
    Datum values[] = {Int64GetDatum(token.value_or(0))};
    bool nulls[] = {!token.has_value()};
    return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(description), values, nulls));
}

// NULL = no limit.
int64 long_wait_argument(FunctionCallInfo fcinfo) {
    return span_argument(fcinfo, 2, "wait").value_or(kForever);
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_acquire_long) {
    begin_long_wait(fcinfo, "acquire_long");
    const std::string_view name = name_argument(fcinfo, 0);
    check_prefix(name);
    Request request = request_arguments(fcinfo, "acquire_long", name);
    request.wait = long_wait_argument(fcinfo);
    commit_and_wait();
    const int64 token = acquire_within(request);
    SPI_commit();  // the answer is given for a grant that has been made
    SPI_finish();
    return inout_token(fcinfo, token != 0 ? std::optional<int64>(token) : std::nullopt);
}

DISTLOCK_FUNCTION(distlock_watch) {
    begin_long_wait(fcinfo, "watch");
    const std::string_view name = name_argument(fcinfo, 0);
    const int64 after_token = pg::arg<int64>(fcinfo, 1).value_or(0);
    const int64 wait = long_wait_argument(fcinfo);
    check_primary("watch");
    commit_and_wait();
    const auto token = watch_token(name, after_token, wait);
    SPI_finish();
    return inout_token(fcinfo, token);
}
