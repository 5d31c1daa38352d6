// report.cpp - see report.hpp.
#include "report.hpp"

#include "clip.hpp"
#include "wake.hpp"

extern "C" {
#include "lib/stringinfo.h"
}

namespace distlock {
namespace {

void append_holder(StringInfo out, const Lease &lease) {
    if (lease.owner != nullptr) {
        const std::string_view owner = clip_label(lease.owner);
        appendStringInfo(out, " by \"%.*s\"", static_cast<int>(owner.size()), owner.data());
    }
    const char *role = GetUserNameFromId(lease.role, true);
    if (role != nullptr) appendStringInfo(out, " (role %s)", role);
}

}  // namespace

const char *seconds(int64 us) { return psprintf("%.3f s", static_cast<double>(us) / 1000000.0); }

const char *lock_facts(std::string_view name, std::span<Lease> rows) {
    const Instant now = clock_now();
    StringInfoData out;
    initStringInfo(&out);
    appendStringInfo(&out, "Lock \"%.*s\"", static_cast<int>(name.size()), name.data());
    Lease *lease = standing_grant(rows);
    if (lease == nullptr) {
        appendStringInfoString(
            &out, rows.empty() ? " is not held and has no recent grant." : " is not held");
        if (!rows.empty()) {
            const Lease &last = rows.back();
            appendStringInfo(&out, "; its last token, " INT64_FORMAT ", was released at %s.",
                             last.token, timestamptz_to_str(last.released_at));
        }
        return out.data;
    }
    appendStringInfo(&out, " was granted under token " INT64_FORMAT, lease->token);
    append_holder(&out, *lease);
    appendStringInfo(&out, " at %s", timestamptz_to_str(lease->acquired.wall));
    const int64 over = over_for(*lease, now);
    if (over < 0)
        appendStringInfo(&out, " and is held for another %s.", seconds(-over));
    else
        appendStringInfo(&out, "; that lease expired %s ago.", seconds(over));
    return out.data;
}

const char *pin_facts(const LOCKTAG &tag, LOCKMODE mode) {
    int count = 0;
    VirtualTransactionId *holders = lock_holders(tag, mode, &count);
    StringInfoData out;
    initStringInfo(&out);
    for (int i = 0; i < count; i++) {
        const PGPROC *proc = compat::proc_of(holders[i]);
        if (proc == nullptr || proc->pid == 0) continue;
        appendStringInfo(&out, out.len == 0 ? "Held by the open transaction of process %d" : ", %d",
                         proc->pid);
    }
    appendStringInfoString(&out, out.len == 0 ? "It was held until just now." : ".");
    return out.data;
}

void report_pinned(const char *what, std::string_view name, const LOCKTAG &tag, LOCKMODE mode) {
    ereport(ERROR, errcode(ERRCODE_LOCK_NOT_AVAILABLE),
            errmsg("could not %s \"%.*s\" within 1 s", what, static_cast<int>(name.size()),
                   name.data()),
            errdetail("%s", pin_facts(tag, mode)),
            errhint("Try again when that transaction has ended; pg_stat_activity shows what it is "
                    "doing."));
    pg_unreachable();
}

}  // namespace distlock
