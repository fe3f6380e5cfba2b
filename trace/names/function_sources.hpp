// Finds source lines of traced functions along with those of the recording's stacks, from the same
// files and within the same budget.
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
    // Functions beyond this get no source line.
    static constexpr std::size_t functions_limit = 4096;

    // Adds the first instructions of the functions numbered in `wanted` to the places to be named.
    // `pid` is the process that had their files mapped.
    void ask(StackTable& stacks, const ModuleTable& modules, std::uint32_t pid,
             const std::vector<calls::Function>& functions, const std::set<std::uint32_t>& wanted);
    // Call after symbolize(): fills in what was found.
    void fill(const StackTable& stacks, std::vector<calls::Function>& functions) const;

  private:
    struct Asked {
        std::uint32_t function = 0;
        FrameId frame = no_frame;
    };
    std::vector<Asked> asked_;
};

}  // namespace lagtrap::trace
