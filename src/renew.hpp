// renew.hpp - what a holder does with its lease: keep it, give it back, or change it.
//
// All take ShareUpdateExclusive on the lease's slot, which lets fenced writers go on and stops a
// grant.  Whether the caller is refused is decided first, from a read without any lock: nobody can
// stop a holder's renewals by asking wrongly.
#pragma once
#include "lease.hpp"

namespace distlock {

// How long renew, release and fence wait for somebody's open transaction.
inline constexpr int kPatienceMs = 1000;

// 42501 unless the acting role is a member of the role that acquired.
void check_holder(std::string_view name, const Lease &lease, const char *action);

// The new expiry, or nullopt when the lease is lost.  ttl 0 = the lease's own, which never
// shortens. With `busy`, does not wait for an open transaction in the way, but says so and returns
// nullopt.
std::optional<TimestampTz> renew_lease(std::string_view name, int64 token, int64 ttl, bool durable,
                                       bool *busy = nullptr);

// 'released', 'expired', 'superseded' or 'not_held'.  `forced` skips the check of the role and is
// logged.
const char *release_lease(std::string_view name, int64 token, bool forced);

// Exclusive becomes shared under the same token, without a gap; the expiry, or nullopt when lost.
std::optional<TimestampTz> downgrade_lease(std::string_view name, int64 token);

// The grant gets token `floor` if that is higher; the token it has then, or nullopt when lost.
std::optional<int64> raise_lease(std::string_view name, int64 token, int64 floor);

}  // namespace distlock
