// runs.cpp - run once per scheduled slot: begin_run and end_run.
//
// A run holds the lock named like its job, so two slots of a job never overlap.  Everything is
// decided under that lock: table job remembers the last finished slot for ever (it is dumped),
// table run the recent history.
#include <cstring>

#include "arguments.hpp"
#include "catalog.hpp"
#include "grant.hpp"
#include "renew.hpp"
#include "resultset.hpp"
#include "rows.hpp"
#include "txn.hpp"

namespace distlock {
namespace {

enum JobColumn { kJobName, kLastSlot, kJobColumns };
enum RunColumn {
    kRunJob,
    kRunSlot,
    kAttempt,
    kToken,
    kOwner,
    kStartedAt,
    kFinishedAt,
    kOk,
    kResult,
    kRunColumns
};

constexpr int kHistory = 100;       // runs of a job that are kept
constexpr int kMostForgotten = 16;  // in one call
constexpr int64 kAhead = USECS_PER_DAY;

template <int kCount>
struct Record {
    Datum values[kCount] = {};
    bool nulls[kCount] = {};
    HeapTuple tuple = nullptr;  // null = there is none yet

    bool exists() const { return tuple != nullptr; }
    void set(int column, bool present, Datum value) {
        nulls[column] = !present;
        values[column] = present ? value : Datum{0};
    }
    void write(const Table &where) {
        write_row(where, values, nulls, exists() ? &tuple->t_self : nullptr);
    }
};

Table job_table() { return {catalog::oids().job, &catalog::oids().job_key}; }
Table run_table() { return {catalog::oids().run, &catalog::oids().run_key}; }

Record<kJobColumns> find_job(std::string_view job) {
    Record<kJobColumns> record;
    ScanKeyData keys[] = {text_key(1, job)};
    record.tuple = find_row(job_table(), keys, record.values, record.nulls);
    return record;
}

Record<kRunColumns> find_run(std::string_view job, TimestampTz slot) {
    Record<kRunColumns> record;
    ScanKeyData keys[] = {text_key(1, job), time_key(2, slot)};
    record.tuple = find_row(run_table(), keys, record.values, record.nulls);
    return record;
}

TimestampTz slot_argument(FunctionCallInfo fcinfo) {
    if (fcinfo->args[1].isnull) report_null("slot");
    return DatumGetTimestampTz(fcinfo->args[1].value);
}

[[noreturn]] void refuse_slot(std::string_view job, TimestampTz slot, const char *why,
                              const char *hint) {
    ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
            errmsg("slot %s of job \"%.*s\" is refused", timestamptz_to_str(slot),
                   static_cast<int>(job.size()), job.data()),
            errdetail("%s", why), errhint("%s", hint));
    pg_unreachable();
}

// Whether the slot has been finished.  Error for one that is older than the last finished one.
bool is_finished(std::string_view job, TimestampTz slot) {
    const Record<kJobColumns> record = find_job(job);
    if (!record.exists()) return false;
    const TimestampTz last = DatumGetTimestampTz(record.values[kLastSlot]);
    if (slot < last)
        refuse_slot(job, slot,
                    psprintf("A later slot, %s, is finished already.", timestamptz_to_str(last)),
                    "Slots of a job run in order; a missed one is skipped.");
    return slot == last;
}

void check_ahead(std::string_view job, TimestampTz slot) {
    const TimestampTz now = GetCurrentTimestamp();
    if (TIMESTAMP_NOT_FINITE(slot) || slot > now + kAhead)
        refuse_slot(job, slot, "It is more than a day ahead: all slots before it would be refused.",
                    "Pass the time that the run is scheduled for.");
}

// The run of this grant: a new attempt, or the one that the same request began before.  False when
// the grant belongs to another slot.
bool write_run(std::string_view job, TimestampTz slot, int64 token, text *owner) {
    Record<kRunColumns> run = find_run(job, slot);
    if (run.exists() && DatumGetInt64(run.values[kToken]) == token) return run.nulls[kFinishedAt];
    const Lease *lease = current_grant(read_lock(job), token);
    if (lease == nullptr || lease->renewed.boot != lease->acquired.boot) return false;
    const int32 attempt = run.exists() ? DatumGetInt32(run.values[kAttempt]) + 1 : 1;
    run.set(kRunJob, true, pg::text_datum(job));
    run.set(kRunSlot, true, TimestampTzGetDatum(slot));
    run.set(kAttempt, true, Int32GetDatum(attempt));
    run.set(kToken, true, Int64GetDatum(token));
    run.set(kOwner, owner != nullptr, PointerGetDatum(owner));
    run.set(kStartedAt, true, TimestampTzGetDatum(lease->acquired.wall));
    run.set(kFinishedAt, false, 0);
    run.set(kOk, false, 0);
    run.set(kResult, false, 0);
    run.write(run_table());
    return true;
}

// Old runs of the job, a few at a time; its lock is held, so nobody else writes them.
void forget_old_runs(std::string_view job) {
    ItemPointerData old[kMostForgotten];
    int seen = 0, count = 0;
    ScanKeyData keys[] = {text_key(1, job)};
    pg::with_fresh_snapshot([&](Snapshot fresh) {
        scan_versions(run_table(), keys, fresh, [&](TupleTableSlot *slot) {
            if (++seen > kHistory) old[count++] = slot->tts_tid;
            return count < kMostForgotten;
        });
        for (int i = 0; i < count; i++) (void)delete_row(run_table(), old[i]);
        return true;
    });
}

int64 begin_run(const Request &request, TimestampTz slot) {
    if (is_finished(request.name, slot)) return 0;
    int64 token = 0;
    // Undone as a whole when the lock was got but the slot turns out to be somebody else's or done.
    const bool begun = pg::in_subtransaction([&] {
        token = try_once(request).token;
        if (token == 0 || is_finished(request.name, slot)) return false;
        if (!write_run(request.name, slot, token, request.owner)) return false;
        forget_old_runs(request.name);
        return true;
    });
    return begun ? token : 0;
}

void finish_job(std::string_view job, TimestampTz slot) {
    Record<kJobColumns> record = find_job(job);
    if (record.exists() && DatumGetTimestampTz(record.values[kLastSlot]) >= slot) return;
    record.set(kJobName, true, pg::text_datum(job));
    record.set(kLastSlot, true, TimestampTzGetDatum(slot));
    record.write(job_table());
}

bool end_run(std::string_view job, TimestampTz slot, int64 token, bool ok, Datum result,
             bool has_result) {
    const Record<kRunColumns> seen = find_run(job, slot);
    if (!seen.exists() || DatumGetInt64(seen.values[kToken]) != token) return false;
    // A lease that ran out but was not taken over still ends the run; afterwards the lock is held
    // by this transaction against a grant.
    const char *released = release_lease(job, token, false);
    if (std::strcmp(released, "released") != 0 && std::strcmp(released, "expired") != 0)
        return false;
    Record<kRunColumns> run = find_run(job, slot);
    txn::before_write();
    run.set(kFinishedAt, true, TimestampTzGetDatum(GetCurrentTimestamp()));
    run.set(kOk, true, BoolGetDatum(ok));
    run.set(kResult, has_result, result);
    run.write(run_table());
    if (ok) finish_job(job, slot);
    txn::after_write(txn::Write::kDurable);
    return true;
}

bool is_held(std::string_view job, int64 token) {
    const std::span<Lease> rows = read_lock(job);
    const Lease *lease = current_grant(rows, token);
    return lease != nullptr && state_of(*lease, clock_now()) == State::kHeld;
}

void put_run(TupleTableSlot *slot, FunctionCallInfo fcinfo) {
    slot_getallattrs(slot);
    const Datum *values = slot->tts_values;
    const bool *nulls = slot->tts_isnull;
    const auto job = pg::from_datum<std::string_view>(values[kRunJob]);
    const char *state = nullptr;
    if (!nulls[kFinishedAt])
        state = DatumGetBool(values[kOk]) ? "finished" : "failed";
    else
        state = is_held(job, DatumGetInt64(values[kToken])) ? "running" : "lost";
    RowBuilder<9> row;
    row.value(values[kRunJob]);
    row.value(values[kRunSlot]);
    row.text(state);
    for (const int column : {kAttempt, kToken, kOwner, kStartedAt, kFinishedAt, kResult})
        row.value_or_null(!nulls[column], values[column]);
    row.put(fcinfo);
}

}  // namespace
}  // namespace distlock

using namespace distlock;

DISTLOCK_FUNCTION(distlock_begin_run) {
    Request request = run_arguments(fcinfo);
    const TimestampTz slot = slot_argument(fcinfo);
    check_prefix(request.name);
    check_ahead(request.name, slot);
    const int64 token = begin_run(request, slot);
    fcinfo->isnull = token == 0;
    return Int64GetDatum(token);
}

DISTLOCK_FUNCTION(distlock_run_rows) {
    InitMaterializedSRF(fcinfo, 0);
    scan_table(catalog::oids().run, {}, [&](TupleTableSlot *slot) { put_run(slot, fcinfo); });
    return Datum{0};
}

DISTLOCK_FUNCTION(distlock_end_run) {
    const std::string_view job = name_argument(fcinfo, 0);
    const TimestampTz slot = slot_argument(fcinfo);
    const int64 token = token_argument(fcinfo, 2);
    const bool ok = pg::arg<bool>(fcinfo, 3).value_or(true);
    check_prefix(job);
    check_writable("end_run");
    const bool has_result = !fcinfo->args[4].isnull;
    const Datum result =
        has_result ? PointerGetDatum(PG_DETOAST_DATUM(fcinfo->args[4].value)) : Datum{0};
    return BoolGetDatum(end_run(job, slot, token, ok, result, has_result));
}
