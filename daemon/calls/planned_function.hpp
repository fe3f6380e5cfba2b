// A function that a trace of a process will probe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "binaries/code/function_calls.hpp"
#include "calls/call_tree.hpp"
#include "daemon/processes/process_files.hpp"

namespace lagtrap::daemon {

struct PlannedFunction {
    std::uint32_t file = 0;
    std::uint64_t entry = 0;  // file offset of the first instruction
    std::string name;
    std::uint32_t level = 0;
    std::string first_code;
    std::vector<binaries::FunctionExit> exits;  // empty with return_probe
    bool return_probe = false;
    std::vector<binaries::IndirectCall> indirect;
    // Its exits are probed as part of other functions, so empty `exits` do not call for a return
    // probe.
    bool ends_elsewhere = false;
    // instruction that every call passes once, if it is not the first one; else 0
    std::uint64_t probed_entry = 0;
};

// From what was found in its code, without the fields that only call trees need. Long names are
// cut.
[[nodiscard]] PlannedFunction planned_function(const CodePlace& place, const std::string& name,
                                               std::uint32_t level, binaries::FunctionCalls& found);

// As it is reported to clients.
[[nodiscard]] calls::Function reported_function(const PlannedFunction& function,
                                                const std::vector<CallFile>& files,
                                                const calls::ProbeCost& cost);

}  // namespace lagtrap::daemon
