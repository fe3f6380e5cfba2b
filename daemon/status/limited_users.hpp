// What the status says of those whose processes were held to their share, or held up the daemon's looks at them.
#pragma once

#include <boost/json/object.hpp>

#include "daemon/processes/inspector_pool.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

// Adds "inspections", and "limited_users" with an entry for each user (by number; the daemon asks nobody for names).
void add_inspections(boost::json::object& report, const UnwinderStatus& unwinder, const InspectionCounts& inspections);

}  // namespace lagtrap::daemon
