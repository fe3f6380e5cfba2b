// Text output of `lagtrap why` for processes: one screen.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "analysis/thread_runs.hpp"
#include "cli/console/console.hpp"
#include "cli/why/why_target.hpp"

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

// At least one process of `target` must be in the recording.
[[nodiscard]] std::string why_text(const analysis::Recording& recording, const WhyTarget& target,
                                   const WhyLook& look);

}  // namespace lagtrap::cli
