// many.cpp - calls on several locks at once: acquire_all and renew_many.
#include <algorithm>

#include "arguments.hpp"
#include "renew.hpp"
#include "report.hpp"
#include "resultset.hpp"
#include "wait.hpp"

extern "C" {
#include "utils/array.h"
}

namespace distlock {
namespace {

[[noreturn]] void report_list(const char *what, const char *hint) {
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s", what),
            errdetail("Nothing was acquired or renewed."), errhint("%s", hint));
    pg_unreachable();
}

// The elements of a one-dimensional array without NULLs.
std::span<Datum> elements(FunctionCallInfo fcinfo, int i, Oid type, const char *what) {
    if (fcinfo->args[i].isnull) report_null(what);
    ArrayType *array = DatumGetArrayTypeP(fcinfo->args[i].value);
    Datum *values = nullptr;
    bool *nulls = nullptr;
    int count = 0;
    deconstruct_array(array, type, type == TEXTOID ? -1 : 8, type != TEXTOID,
                      type == TEXTOID ? TYPALIGN_INT : TYPALIGN_DOUBLE, &values, &nulls, &count);
    if (ARR_NDIM(array) > 1)
        report_list("the list must be a one-dimensional array", "Pass ARRAY['a', 'b'].");
    for (int k = 0; k < count; k++)
        if (nulls[k]) report_null(what);
    return {values, static_cast<std::size_t>(count)};
}

std::string_view checked_name(Datum element) {
    const auto name = pg::from_datum<std::string_view>(element);
    check_name(name);
    check_prefix(name);
    return name;
}

// Names in byte order without repetitions: the one order in which everybody takes locks.
std::span<std::string_view> lock_order(std::span<Datum> list) {
    if (list.empty()) report_list("the list of lock names is empty", "Pass at least one name.");
    auto *names = static_cast<std::string_view *>(palloc(list.size() * sizeof(std::string_view)));
    for (std::size_t i = 0; i < list.size(); i++) names[i] = checked_name(list[i]);
    std::sort(names, names + list.size());
    return {names, std::unique(names, names + list.size())};
}

std::span<Request> requests_for(std::span<std::string_view> names, const Request &common) {
    auto *requests = static_cast<Request *>(palloc(names.size() * sizeof(Request)));
    for (std::size_t i = 0; i < names.size(); i++) {
        requests[i] = common;
        requests[i].name = names[i];
    }
    return {requests, names.size()};
}

void put_renewal(FunctionCallInfo fcinfo, std::string_view name, int64 token, int64 ttl) {
    bool busy = false;
    auto expires = renew_lease(name, token, ttl, true, &busy);
    if (busy) {
        // Not lost, only not renewed this time: it still ends when it did.
        const std::span<Lease> rows = read_lock(name);
        const Lease *lease = current_grant(rows, token);
        if (lease != nullptr) expires = lease->expires.wall;
    }
    RowBuilder<3> row;
    row.text(name);
    row.value(Int64GetDatum(token));
    row.value_or_null(expires.has_value(), TimestampTzGetDatum(expires.value_or(0)));
    row.put(fcinfo);
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_acquire_all) {
    const std::span<std::string_view> names =
        lock_order(elements(fcinfo, 0, TEXTOID, "list of lock names"));
    const Request common = options_of(fcinfo, "acquire_all", names[0], max_wait_us());
    const std::span<Request> requests = requests_for(names, common);
    InitMaterializedSRF(fcinfo, 0);
    auto *tokens = static_cast<int64 *>(palloc0(names.size() * sizeof(int64)));
    std::size_t busy = 0;
    if (!acquire_all_within(requests, tokens, &busy)) report_not_got(requests[busy]);
    for (std::size_t i = 0; i < names.size(); i++) {
        RowBuilder<2> row;
        row.text(names[i]);
        row.value(Int64GetDatum(tokens[i]));
        row.put(fcinfo);
    }
    return Datum{0};
}

DISTLOCK_FUNCTION(distlock_renew_many) {
    const std::span<Datum> names = elements(fcinfo, 0, TEXTOID, "list of lock names");
    const std::span<Datum> tokens = elements(fcinfo, 1, INT8OID, "list of tokens");
    const int64 ttl = ttl_argument(fcinfo, 2).value_or(0);
    if (names.size() != tokens.size())
        report_list("the lists of names and of tokens differ in length", "Pass one token a name.");
    check_writable("renew_many");
    for (const Datum name : names) (void)checked_name(name);
    InitMaterializedSRF(fcinfo, 0);
    for (std::size_t i = 0; i < names.size(); i++)
        put_renewal(fcinfo, pg::from_datum<std::string_view>(names[i]), DatumGetInt64(tokens[i]),
                    ttl);
    return Datum{0};
}
