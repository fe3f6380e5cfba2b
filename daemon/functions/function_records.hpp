// Calls and totals of functions, from what the programs in the kernel wrote. Uses no kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/functions.h"
#include "calls/function_stream.hpp"

namespace lagtrap::daemon {

// `functions` is the number of functions. nullopt if the record is truncated, or of another one.
[[nodiscard]] std::optional<calls::TracedCall> traced_call_of(const void* record, std::size_t bytes,
                                                              std::uint32_t functions);

// nullopt if the function was not called.
[[nodiscard]] std::optional<calls::FunctionTotals> totals_of(
    const lagtrap_traced_function& function, std::uint32_t number, std::uint32_t functions);

// Totals since the last time.
class FreshTotals {
  public:
    explicit FreshTotals(std::size_t functions) : taken_(functions) {}
    // `now` are the totals since the start. nullopt if there was no call since the last time.
    [[nodiscard]] std::optional<calls::FunctionTotals> take(calls::FunctionTotals now);

  private:
    std::vector<calls::FunctionTotals> taken_;  // by function: at the last time
};

}  // namespace lagtrap::daemon
