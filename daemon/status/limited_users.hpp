// Status of users who reached a limit of inspections, or whose processes delayed inspections.
#pragma once

#include <boost/json/object.hpp>

#include "daemon/processes/inspector_pool.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

// Files with watched names that were not noted (mapped) or not opened (copies).
struct FilesLeftOut {
    LeftOut mapped, copies;
};

// Adds "inspections", and "limited_users" with an entry for each user, by number: the daemon does
// not look up names.
void add_inspections(boost::json::object& report, const UnwinderStatus& unwinder,
                     const InspectionCounts& inspections, const FilesLeftOut& files);

}  // namespace lagtrap::daemon
