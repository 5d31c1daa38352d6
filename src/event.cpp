// event.cpp - see event.hpp.
#include "event.hpp"

#include "clip.hpp"
#include "settings.hpp"

extern "C" {
#include "commands/async.h"
#include "lib/stringinfo.h"
#include "utils/json.h"
}

namespace distlock {
namespace {

const char *event_name(Event event) {
    switch (event) {
        case Event::kGranted:
            return "granted";
        case Event::kReleased:
            return "released";
        case Event::kExpired:
            return "expired";
        default:
            return "forced";
    }
}

// A listener stuck in a transaction fills the queue, and then NOTIFYing transactions fail at
// commit.
bool queue_has_room() {
    constexpr double kEnough = 0.5;
    return DatumGetFloat8(OidFunctionCall0(F_PG_NOTIFICATION_QUEUE_USAGE)) < kEnough;
}

void append_string(StringInfo out, std::string_view text) { escape_json(out, pg::c_string(text)); }

}  // namespace

void announce(Event event, std::string_view name, const Lease &lease) {
    if (!settings::notify()) return;
    if (!queue_has_room()) {
        ereport(WARNING, errmsg("distlock: event not sent, the notification queue is half full"),
                errdetail("The lock itself is not affected."),
                errhint("A session that listens has been in one transaction for too long."));
        return;
    }
    StringInfoData out;
    initStringInfo(&out);
    appendStringInfo(&out, "{\"event\": \"%s\", \"name\": ", event_name(event));
    append_string(&out, name);
    appendStringInfo(&out, ", \"token\": " INT64_FORMAT ", \"slot\": %d, \"owner\": ", lease.token,
                     lease.slot);
    if (lease.owner != nullptr) {
        append_string(&out, clip_label(lease.owner));
    } else {
        appendStringInfoString(&out, "null");
    }
    appendStringInfoChar(&out, '}');
    Async_Notify("distlock", out.data);
}

}  // namespace distlock
