// What the status says of those who are not trusted: callers of the control socket, and files of watched programs.
#pragma once

#include <boost/json/object.hpp>

#include "daemon/control_server.hpp"
#include "daemon/unwinder.hpp"

namespace lagtrap::daemon {

// Adds "control" and "file_reader" (docs/formats.md).
void add_outsiders(boost::json::object& report, const Unwinder& unwinder, const ControlServer& control);

}  // namespace lagtrap::daemon
