// label.cpp - see label.hpp.
#include "label.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "clip.hpp"

namespace distlock::label {
namespace {

// Not one of the server's commands (their numbers are small and grow slowly).
constexpr auto kWaiting = std::bit_cast<ProgressCommandType>(0xD157);

enum Param : int { kMode, kSince, kOwnerLength, kOwner };
constexpr int kParams = kOwner + kLabelBytes / static_cast<int>(sizeof(int64));
static_assert(kParams <= PGSTAT_NUM_PROGRESS_PARAM);

bool showing() { return MyBEEntry != nullptr && MyBEEntry->st_progress_command == kWaiting; }

}  // namespace

void show(const Request &request) {
    if (MyBEEntry == nullptr || MyBEEntry->st_progress_command != PROGRESS_COMMAND_INVALID) return;
    int index[kParams];
    int64 values[kParams] = {};
    for (int i = 0; i < kParams; i++) index[i] = i;
    values[kMode] = static_cast<int64>(request.mode);
    values[kSince] = GetCurrentTimestamp();
    if (request.owner != nullptr) {
        const std::string_view owner = clip_label(request.owner);
        values[kOwnerLength] = static_cast<int64>(owner.size());
        std::memcpy(&values[kOwner], owner.data(), owner.size());
    }
    pgstat_progress_start_command(kWaiting, InvalidOid);
    pgstat_progress_update_multi_param(kParams, index, values);
}

void clear() {
    if (showing()) pgstat_progress_end_command();
}

void each(EachLabel body, void *context) {
    pgstat_clear_backend_activity_snapshot();  // within a transaction, too, the queue is as of now
    const int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; i++) {
        const LocalPgBackendStatus *local = compat::local_status(i);
        if (local == nullptr) continue;
        const PgBackendStatus &status = local->backendStatus;
        if (status.st_progress_command != kWaiting || status.st_databaseid != MyDatabaseId)
            continue;
        const int64 *values = status.st_progress_param;
        const auto length = std::clamp<int64>(values[kOwnerLength], 0, kLabelBytes);
        body({status.st_procpid,
              static_cast<Mode>(values[kMode]),
              values[kSince],
              {reinterpret_cast<const char *>(&values[kOwner]), static_cast<std::size_t>(length)}},
             context);
    }
}

}  // namespace distlock::label
