// Makes the settings element for the event that `lagtrap watch` was asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/add/add_target.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

// Exactly one of `function`, `usdt`, `syscall`, `preset` and `tracepoint` is set.
struct WatchWish {
    std::string function;
    std::string usdt;     // "postgresql:query__start" or "postgresql:query"
    std::string syscall;  // "fsync"
    std::string preset;
    std::string over;                  // a duration; empty: the preset's thresholds
    std::optional<AddTarget> target;   // nullopt: the whole machine
    std::optional<std::uint32_t> pid;  // only this process of the target
    std::string tracepoint{};          // "block:block_rq_issue", where a run begins
    std::string until{};               // the tracepoint where it ends
    std::string key{};                 // the fields that pair both; empty: the thread
    // Functions; or probes or tracepoints "GROUP:NAME", as those of the event.
    std::vector<std::string> stages{};
    bool descendants = false;  // of `pid` too
};

// A probe or tracepoint "GROUP:NAME", not a function such as "shop::buy".
[[nodiscard]] bool is_marker_name(const std::string& text);

// Returns XML indented by two spaces. Errors say what is missing, or list the probes that exist.
// For `usdt`, reads the target's file.
[[nodiscard]] Result<std::string> watch_element(const WatchWish& wish);

}  // namespace lagtrap::cli
