// judge.cpp - see judge.hpp.
#include "judge.hpp"

#include <algorithm>
#include <cstring>

#include "report.hpp"
#include "session.hpp"

namespace distlock {
namespace {

void report_mismatch(std::span<Lease> rows, const Request &request) {
    const bool semaphore = is_semaphore(rows);
    const int32 capacity = semaphore ? capacity_of(rows) : 1;
    ereport(
        ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
        errmsg("lock \"%.*s\" is %s", static_cast<int>(request.name.size()), request.name.data(),
               semaphore ? psprintf("a semaphore of capacity %d", capacity)
                         : "an exclusive or shared lock, not a semaphore"),
        errdetail("The caller asked for %s with capacity %d.",
                  request.mode == Mode::kShared ? "mode shared" : "mode exclusive",
                  request.capacity),
        errhint("All callers of one lock must name the same capacity; distlock.set_capacity "
                "changes it."));
}

void check_kind(std::span<Lease> rows, const Request &request) {
    if (rows.empty()) return;
    const bool fits = is_semaphore(rows)
                          ? request.mode != Mode::kShared && request.capacity == capacity_of(rows)
                          : request.capacity == 1;
    if (!fits) report_mismatch(rows, request);
}

// Whether the row alone stands in the way, and for how long.  A session-bound grant ends with its
// session, as by a release.
int64 blocks_for(const Lease &row, const Instant &now) {
    const int64 left = busy_for(row, now);
    if (left <= 0 || row.released || row.session_pid == 0) return left;
    return session_is_gone(row) ? hold_for(row, now) : std::min(left, kSessionRecheck);
}

// Which rows matter to the request: for a shared one only slot 0, else all.
bool concerns(const Lease &row, const Request &request) {
    return request.mode != Mode::kShared || row.slot == 0;
}

// True once all the rows in the way have stood unchanged for as long as the longest was granted.
bool outwatched(std::span<Lease> rows, const Request &request, Sighting &sighting,
                const Instant &now, int64 *left) {
    uint64 leases = 0;
    int64 length = 0;
    for (const Lease &row : rows) {
        if (!concerns(row, request) || busy_for(row, now) <= 0) continue;
        leases += lock_hash({reinterpret_cast<const char *>(&row.renewed), sizeof row.renewed},
                            row.token);
        length = std::max(length, row.expires.boot - row.renewed.boot + row.lock_delay);
    }
    if (sighting.leases != leases) sighting = {leases, now.boot};
    *left = sighting.since + length - now.boot;
    return *left <= 0;
}

}  // namespace

bool is_semaphore(std::span<Lease> rows) {
    return !rows.empty() && rows.back().mode == Mode::kPermit;
}

int32 capacity_of(std::span<Lease> rows) { return rows.empty() ? 1 : rows.back().capacity; }

bool wants_permit(std::span<Lease> rows, const Request &request) {
    return rows.empty() ? request.capacity > 1 : is_semaphore(rows);
}

bool same_request(const Lease &lease, const Request &request) {
    const Mode mode = lease.mode == Mode::kPermit ? Mode::kExclusive : lease.mode;
    return request.request_id != nullptr && lease.request_id != nullptr && !lease.released &&
           std::memcmp(lease.request_id->data, request.request_id->data, UUID_LEN) == 0 &&
           lease.role == request.role && mode == request.mode &&
           lease.capacity == request.capacity && lease.session_pid == 0;
}

bool lives(const Lease &lease) {
    if (state_of(lease, clock_now()) != State::kHeld) return false;
    return lease.session_pid == 0 || !session_is_gone(lease);
}

bool is_busy(const Lease &lease) { return blocks_for(lease, clock_now()) > 0; }

Lease *row_of_slot(std::span<Lease> rows, int32 slot) {
    for (Lease &row : rows)
        if (row.slot == slot) return &row;
    return nullptr;
}

Verdict judge(std::span<Lease> rows, const Request &request, Sighting &sighting) {
    check_kind(rows, request);
    const Instant now = clock_now();
    int64 longest = 0, shortest = PG_INT64_MAX;
    int32 busy = 0;
    for (Lease &row : rows) {
        if (same_request(row, request) && state_of(row, now) == State::kHeld)
            return {false, 0, &row, false};
        if (!concerns(row, request)) continue;
        const int64 left = blocks_for(row, now);
        if (left <= 0) continue;
        busy++;
        longest = std::max(longest, left);
        shortest = std::min(shortest, left);
    }
    const bool permit = wants_permit(rows, request);
    if (busy < (permit ? request.capacity : 1)) return {true, 0, nullptr, false};
    int64 watch_left = 0;
    if (outwatched(rows, request, sighting, now, &watch_left)) return {true, 0, nullptr, true};
    return {false, std::min(permit ? shortest : longest, watch_left), nullptr, false};
}

}  // namespace distlock
