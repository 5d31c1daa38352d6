// settings.cpp - definition of the settings.
#include "settings.hpp"

namespace distlock::settings {
namespace {

constexpr int kSecond = 1000;
constexpr int kMinTtl = 10;

constinit int default_ttl_ms = 30 * kSecond;
constinit int max_ttl_ms = 86400 * kSecond;
constinit int max_wait_ms = 60 * kSecond;
constinit int evict_after_ms = 10 * kSecond;
constinit int retention_ms = 3600 * kSecond;
constinit bool notify_on = false;
constinit bool require_sync_standby_on = false;

void milliseconds(const char *name, const char *text, const char *more, int *value, int min,
                  GucContext context) {
    DefineCustomIntVariable(name, text, more, value, *value, min, INT_MAX, context, GUC_UNIT_MS,
                            nullptr, nullptr, nullptr);
}

int at_least(int value, int min) { return value < min ? min : value; }

}  // namespace

void define() {
    milliseconds("distlock.default_ttl", "Length of a lease when the caller names none.",
                 "Must not exceed distlock.max_ttl.", &default_ttl_ms, kMinTtl, PGC_USERSET);
    milliseconds("distlock.max_ttl", "Longest lease that anybody may ask for.",
                 "A longer ttl is refused, never shortened.", &max_ttl_ms, kMinTtl, PGC_SUSET);
    milliseconds("distlock.max_wait", "Longest wait inside try_acquire and acquire.",
                 "A waiting statement holds back vacuum; acquire_long does not.", &max_wait_ms, 0,
                 PGC_USERSET);
    milliseconds("distlock.evict_after",
                 "How long an ended lease may still be pinned by an open transaction.",
                 "After that its session is terminated by whoever wants the lock. -1 switches the "
                 "termination off; the fence then refuses after distlock.retention.",
                 &evict_after_ms, -1, PGC_SUSET);
    milliseconds("distlock.retention", "How long the row of a free lock is kept.",
                 "Older ones are removed little by little by transactions that acquire.",
                 &retention_ms, 0, PGC_SUSET);
    DefineCustomBoolVariable("distlock.notify", "Sends NOTIFY distlock for each lock event.",
                             "NOTIFY takes a database-wide lock at commit.", &notify_on, false,
                             PGC_USERSET, 0, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable("distlock.require_sync_standby",
                             "Refuses to grant unless a synchronous standby is configured.",
                             "So that an isolated old primary cannot grant.",
                             &require_sync_standby_on, false, PGC_SUSET, 0, nullptr, nullptr,
                             nullptr);
    MarkGUCPrefixReserved("distlock");
}

int default_ttl() { return at_least(default_ttl_ms, kMinTtl); }
int max_ttl() { return at_least(max_ttl_ms, kMinTtl); }
int max_wait() { return at_least(max_wait_ms, 0); }
int evict_after() { return at_least(evict_after_ms, -1); }
int retention() { return at_least(retention_ms, 0); }
bool notify() { return notify_on; }
bool require_sync_standby() { return require_sync_standby_on; }

}  // namespace distlock::settings
