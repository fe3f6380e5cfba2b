// Text output of `lagtrap why` for a process: one screen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/thread_runs.hpp"
#include "cli/console/console.hpp"

namespace lagtrap::cli {

struct WhyLook {
    Paint paint;
    std::size_t columns = 80;
    bool all = false;  // show every thread, and every stack
    // By thread: how long before the recording it last ran. Missing if unknown.
    std::map<std::uint32_t, std::uint64_t> stopped_before_ns;
    // By thread, from waited_files().
    std::map<std::uint32_t, std::string> files{};
};

// `pid` must be a process of the recording.
[[nodiscard]] std::string why_text(const analysis::Recording& recording, std::uint32_t pid, const WhyLook& look);

}  // namespace lagtrap::cli
