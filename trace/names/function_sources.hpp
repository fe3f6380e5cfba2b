// The source lines of functions that were traced: found together with those of the recording's stacks, from the same files
// and within the same budget.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "calls/call_tree.hpp"
#include "trace/processes/modules.hpp"
#include "trace/stacks/stack_table.hpp"

namespace lagtrap::trace {

class FunctionSources {
  public:
    // More are left without.
    static constexpr std::size_t functions_limit = 4096;

    // Adds the first instructions of these functions to the places that are to be named. `pid` had their files mapped; `wanted`
    // are their numbers.
    void ask(StackTable& stacks, const ModuleTable& modules, std::uint32_t pid,
             const std::vector<calls::Function>& functions, const std::set<std::uint32_t>& wanted);
    // After symbolize(): gives them what was found.
    void fill(const StackTable& stacks, std::vector<calls::Function>& functions) const;

  private:
    struct Asked {
        std::uint32_t function = 0;
        FrameId frame = no_frame;
    };
    std::vector<Asked> asked_;
};

}  // namespace lagtrap::trace
