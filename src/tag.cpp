// tag.cpp - taking and releasing our heavyweight locks.
#include "tag.hpp"

extern "C" {
#include "access/twophase.h"
#include "tcop/tcopprot.h"
#include "utils/timeout.h"
}

#include <bit>
#include <cstring>

namespace distlock {
namespace {

constexpr int kClientCheckMs = 15000;

// SipHash-2-4 (Aumasson and Bernstein, 2012).
class SipHash {
public:
    SipHash(uint64 k0, uint64 k1)
        : v0_(k0 ^ 0x736f6d6570736575),
          v1_(k1 ^ 0x646f72616e646f6d),
          v2_(k0 ^ 0x6c7967656e657261),
          v3_(k1 ^ 0x7465646279746573) {}

    void word(uint64 m) {
        v3_ ^= m;
        round();
        round();
        v0_ ^= m;
    }

    uint64 finish() {
        v2_ ^= 0xff;
        for (int i = 0; i < 4; i++) round();
        return v0_ ^ v1_ ^ v2_ ^ v3_;
    }

private:
    void round() {
        v0_ += v1_, v1_ = std::rotl(v1_, 13) ^ v0_, v0_ = std::rotl(v0_, 32);
        v2_ += v3_, v3_ = std::rotl(v3_, 16) ^ v2_;
        v0_ += v3_, v3_ = std::rotl(v3_, 21) ^ v0_;
        v2_ += v1_, v1_ = std::rotl(v1_, 17) ^ v2_, v2_ = std::rotl(v2_, 32);
    }

    uint64 v0_, v1_, v2_, v3_;
};

// Runs `body` with our locks' owner as the current one: what a limited wait has taken belongs to
// it already, and LockRelease looks for a lock under the current owner only.
template <pg::Plain Body>
auto as_transaction(Body body) {
    const ResourceOwner owner = CurrentResourceOwner;
    CurrentResourceOwner = CurTransactionResourceOwner;
    auto result = body();
    CurrentResourceOwner = owner;
    return result;
}

}  // namespace

uint64 lock_hash(std::string_view name, int64 number) {
    // 32 random bytes of the cluster, in its control file: the same on physical standbys.
    uint64 key[2];
    std::memcpy(key, GetMockAuthenticationNonce(), sizeof key);
    SipHash hash(key[0], key[1]);
    hash.word(static_cast<uint64>(number));
    std::size_t at = 0;
    for (; at + 8 <= name.size(); at += 8) {
        uint64 word;
        std::memcpy(&word, name.data() + at, 8);
        hash.word(word);
    }
    uint64 last = static_cast<uint64>(name.size()) << 56;
    std::memcpy(&last, name.data() + at, name.size() - at);
    hash.word(last);
    return hash.finish();
}

LOCKTAG lock_tag(LockClass lock_class, uint64 hash) {
    LOCKTAG tag;
    SET_LOCKTAG_ADVISORY(tag, MyDatabaseId, static_cast<uint32>(hash >> 32),
                         static_cast<uint32>(hash), static_cast<uint16>(lock_class));
    return tag;
}

bool lock_now(const LOCKTAG &tag, LOCKMODE mode) {
    return as_transaction(
        [&] { return LockAcquire(&tag, mode, false, true) != LOCKACQUIRE_NOT_AVAIL; });
}

bool lock_within(const LOCKTAG &tag, LOCKMODE mode, int ms) {
    if (lock_now(tag, mode)) return true;
    // A timer of our own: ProcSleep arms it from the variable.  No cycle through our waits is worth
    // a detector's time: they are bounded, or sleep where it cannot see them; and hundreds of
    // waiters' deadlock checks would stall unrelated lock calls for seconds.
    const int lock_timeout = LockTimeout;
    const int deadlock_timeout = DeadlockTimeout;
    // A client that has gone must not keep its place, nor its backend, for the length of the wait.
    const bool watch_client = client_connection_check_interval == 0 && MyProcPort != nullptr;
    const auto wait = [&] {
        pg::finally(
            [&] {
                LockTimeout = ms;
                DeadlockTimeout = INT_MAX;
                if (watch_client) {
                    client_connection_check_interval = kClientCheckMs;
                    enable_timeout_after(CLIENT_CONNECTION_CHECK_TIMEOUT, kClientCheckMs);
                }
                (void)LockAcquire(&tag, mode, false, false);
            },
            [&] {
                LockTimeout = lock_timeout;
                DeadlockTimeout = deadlock_timeout;
                if (watch_client) {
                    client_connection_check_interval = 0;
                    disable_timeout(CLIENT_CONNECTION_CHECK_TIMEOUT, false);
                }
            });
        return true;
    };
    return pg::in_subtransaction(wait, ERRCODE_LOCK_NOT_AVAILABLE);
}

void unlock(const LOCKTAG &tag, LOCKMODE mode) {
    as_transaction([&] { return LockRelease(&tag, mode, false); });
}

VirtualTransactionId *lock_holders(const LOCKTAG &tag, LOCKMODE mode, int *count) {
    return GetLockConflicts(&tag, mode, count);
}

int lock_budget() { return max_locks_per_xact * (MaxBackends + max_prepared_xacts) / 2; }

}  // namespace distlock
