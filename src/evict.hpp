// evict.hpp - ending the sessions whose open transactions pin a lock that is long over.
#pragma once
#include "lease.hpp"
#include "tag.hpp"

namespace distlock {

// When the lease (or the grant that an open transaction is making) has been over for longer than
// distlock.evict_after, terminates the sessions whose open transactions hold the slot's tag.  They
// get 57P01 and their writes are gone.  Returns without waiting for them.
void evict_if_due(std::string_view name, const LOCKTAG &tag);

}  // namespace distlock
