// Status of untrusted parties: callers of the control socket, and files of watched programs.
#pragma once

#include <vector>

#include <boost/json/object.hpp>

#include "daemon/control/control_server.hpp"
#include "daemon/events/event_arming.hpp"
#include "daemon/processes/look_budget.hpp"
#include "daemon/unwinding/unwinder.hpp"

namespace lagtrap::daemon {

// Adds "control" and "file_reader" (docs/formats.md).
void add_untrusted_parties(boost::json::object& report, const Unwinder& unwinder,
                           const ControlServer& control);

// Adds "limited_looks": users whose stacks at markers have no names, because inspecting their
// processes takes too long.
void add_limited_looks(boost::json::object& report, const std::vector<LookBudget::Limited>& users);

// Adds "watched_files": files with something to report.
void add_watched_files(boost::json::object& report, const std::vector<WatchedFileStatus>& files);

}  // namespace lagtrap::daemon
