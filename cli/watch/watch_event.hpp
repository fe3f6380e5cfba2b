// The event that `lagtrap watch` is asked for, as an element of the settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/add/add_target.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// Of the first four, one is given.
struct WatchWish {
    std::string function;
    std::string usdt;     // "postgresql:query__start", or without what it ends in
    std::string syscall;  // "fsync"
    std::string preset;
    std::string over;                  // a duration, or empty: of a preset its own thresholds
    std::optional<AddTarget> target;   // where; none: of a system call anywhere
    std::optional<std::uint32_t> pid;  // of the target, this process alone
};

// Indented by two. Errors say what is missing, or what there is instead. Reads the target's file for its probes.
[[nodiscard]] Result<std::string> watch_element(const WatchWish& wish);

}  // namespace lagtrap::cli
