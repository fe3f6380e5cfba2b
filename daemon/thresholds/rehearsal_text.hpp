// What lagtrapd --rehearse prints.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "daemon/thresholds/rehearsal.hpp"

namespace lagtrap::daemon {

// The rehearsal of the new settings next to that of the settings in use.
[[nodiscard]] std::string rehearsal_text(const Rehearsal& next, const Rehearsal& current);
[[nodiscard]] boost::json::object rehearsal_json(const Rehearsal& next, const Rehearsal& current);

}  // namespace lagtrap::daemon
