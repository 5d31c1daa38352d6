// clock.cpp - reading the lease clock.
#include "clock.hpp"

extern "C" {
#include "storage/fd.h"
}
#include <cstring>
#include <ctime>

namespace distlock {
namespace {

constinit pg_uuid_t this_boot{};
constinit bool boot_read = false;

// Read once per backend: a backend does not outlive its kernel.  Without /proc the id stays zero
// and `until` falls back on the wall clock.
void read_boot_id() {
    boot_read = true;
    FILE *file = AllocateFile("/proc/sys/kernel/random/boot_id", "r");
    if (file == nullptr) return;
    char line[64];
    if (fgets(line, sizeof line, file) != nullptr && std::strlen(line) >= 36) {
        line[36] = '\0';
        const Datum id = DirectFunctionCall1(uuid_in, CStringGetDatum(line));
        this_boot = *DatumGetUUIDP(id);
    }
    FreeFile(file);
}

bool is_zero(const pg_uuid_t &id) {
    constexpr pg_uuid_t zero{};
    return std::memcmp(id.data, zero.data, UUID_LEN) == 0;
}

}  // namespace

Instant clock_now() {
    if (!boot_read) read_boot_id();
    timespec t{};
    clock_gettime(CLOCK_BOOTTIME, &t);
    return {GetCurrentTimestamp(), int64{t.tv_sec} * 1000000 + t.tv_nsec / 1000, this_boot};
}

bool is_of_boot(const Stamp &written, const pg_uuid_t &boot_id, const Instant &now) {
    return !is_zero(boot_id) && std::memcmp(boot_id.data, now.boot_id.data, UUID_LEN) == 0 &&
           written.boot <= now.boot;
}

int64 until(const Stamp &when, const Stamp &written, const pg_uuid_t &boot_id, const Instant &now) {
    return is_of_boot(written, boot_id, now) ? when.boot - now.boot : when.wall - now.wall;
}

}  // namespace distlock
