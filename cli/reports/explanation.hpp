// Why an event has no delay, or how it comes to those that it has: `lagtrap explain`.
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
        std::string next;      // what to do about it; empty: nothing
    };
    std::string event;              // what is watched, in a line
    std::vector<Finding> findings;  // what matters most first; never empty
};

// Programs and libraries of the event's markers, without repetition.
[[nodiscard]] std::vector<std::string> binaries_of(const boost::json::object& event);

// Of the daemon's answer to "status", one of its events, and the processes of each of the event's binaries.
[[nodiscard]] Explanation explain(const boost::json::object& answer, const boost::json::object& event,
                                  const std::map<std::string, ProgramProcesses>& processes);

}  // namespace lagtrap::cli
