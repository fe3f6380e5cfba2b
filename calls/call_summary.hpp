// Sums up many calls of one function in one tree, by call path.
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
    std::uint64_t min_ns = 0, max_ns = 0;  // wall time
    std::uint64_t left_out = 0;
    std::uint64_t not_returned = 0;  // left by an exception, longjmp and the like
    Times sum{};
};

class Summary {
  public:
    // `times` are those of net_times().
    void add(const Tree& tree, const std::vector<Times>& times);
    // Callers precede callees.
    [[nodiscard]] const std::vector<SummedCall>& calls() const { return calls_; }

  private:
    std::vector<SummedCall> calls_;
    // by parent and function
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers_;
};

}  // namespace lagtrap::calls
