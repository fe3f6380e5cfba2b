// `lagtrap explain`: why an event has no delay, or how its delays come about.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/programs/program_processes.hpp"

namespace lagtrap::cli {

struct Explanation {
    struct Finding {
        std::string kind;      // for programs
        std::string sentence;  // for people
        std::string next;      // what to do about it; empty if nothing
    };
    std::string event;              // what is watched, in one line
    std::vector<Finding> findings;  // most important first; never empty
};

// Programs and libraries of the event's markers, without duplicates.
[[nodiscard]] std::vector<std::string> binaries_of(const boost::json::object& event);

// `answer` is the daemon's answer to "status", `event` one of its events; `processes` are those of
// each of the event's binaries.
[[nodiscard]] Explanation explain(const boost::json::object& answer,
                                  const boost::json::object& event,
                                  const std::map<std::string, ProgramProcesses>& processes);

}  // namespace lagtrap::cli
