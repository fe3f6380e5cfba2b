// The kernel's tracepoints, as the settings name them.
#pragma once

#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "settings/tracefs.hpp"

namespace lagtrap::cli {

struct Tracepoint {
    std::string category;
    std::string name;
    std::vector<std::string> numbers;  // fields that can be a key or a begin time, in the order of the record
};

// Those whose "CATEGORY:NAME" matches `pattern`, by name: with * ? [ as file names do, else those that hold it. Empty:
// all of them. System calls are syscalls:sys_enter_NAME and syscalls:sys_exit_NAME.
[[nodiscard]] std::vector<Tracepoint> tracepoints_like(const settings::TraceFs& tracefs, const std::string& pattern);

// A line for each: an element to be pasted into the settings, and its fields in a comment.
[[nodiscard]] std::string tracepoints_text(const std::vector<Tracepoint>& tracepoints);
[[nodiscard]] boost::json::array tracepoints_json(const std::vector<Tracepoint>& tracepoints);

}  // namespace lagtrap::cli
