// What the status says of those whose processes were held to their share, or held up the daemon's looks at them.
#pragma once

#include <boost/json/object.hpp>

#include "daemon/processes/inspector_pool.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

// Of files with watched names: what was not noted, and what was not opened.
struct FilesLeftOut {
    LeftOut sightings, copies;
};

// Adds "inspections", and "limited_users" with an entry for each user (by number; the daemon asks nobody for names).
void add_inspections(boost::json::object& report, const UnwinderStatus& unwinder, const InspectionCounts& inspections,
                     const FilesLeftOut& files);

}  // namespace lagtrap::daemon
