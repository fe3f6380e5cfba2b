// Output of `lagtrap doctor`.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "cli/doctor/doctor_findings.hpp"

namespace lagtrap::cli {

// True if lagtrap does not work on this machine.
[[nodiscard]] bool lacks_needed(const std::vector<Finding>& findings);
[[nodiscard]] std::string doctor_text(const std::vector<Finding>& findings, const Paint& paint);
[[nodiscard]] boost::json::object doctor_json(const std::vector<Finding>& findings);

}  // namespace lagtrap::cli
