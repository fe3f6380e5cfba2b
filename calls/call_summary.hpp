// Many calls of one function in one tree: what was called on the same path is added up.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "calls/call_tree.hpp"

namespace lagtrap::calls {

struct SummedCall {
    std::uint32_t function = 0;
    std::uint32_t parent = no_parent;
    std::uint64_t count = 0;
    std::uint64_t least_ns = 0, most_ns = 0;  // wall
    std::uint64_t left_out = 0;
    std::uint64_t not_returned = 0;  // left by no instruction of its own
    Times sum{};
};

class Summary {
  public:
    // `times`: as net_times() has them.
    void add(const Tree& tree, const std::vector<Times>& times);
    // Callers first.
    [[nodiscard]] const std::vector<SummedCall>& calls() const { return calls_; }

  private:
    std::vector<SummedCall> calls_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;  // by parent and function
};

}  // namespace lagtrap::calls
