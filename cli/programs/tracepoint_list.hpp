// Lists the kernel's tracepoints under their names in the settings.
#pragma once

#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "settings/tracefs.hpp"

namespace lagtrap::cli {

struct Tracepoint {
    std::string category;
    std::string name;
    std::vector<std::string> numbers;  // fields that can be a key or a begin time, in record order
};

// Tracepoints whose "CATEGORY:NAME" matches `pattern`, by name. With * ? [ it is a glob pattern;
// otherwise the name must contain it. Empty: all tracepoints. System calls are
// syscalls:sys_enter_NAME and syscalls:sys_exit_NAME.
[[nodiscard]] std::vector<Tracepoint> tracepoints_like(const settings::TraceFs& tracefs,
                                                       const std::string& pattern);

// One line each: an element to paste into the settings, with its fields in a comment.
[[nodiscard]] std::string tracepoints_text(const std::vector<Tracepoint>& tracepoints);
[[nodiscard]] boost::json::array tracepoints_json(const std::vector<Tracepoint>& tracepoints);

}  // namespace lagtrap::cli
