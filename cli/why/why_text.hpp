// What `lagtrap why` says of a process, for people: one screen.
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
    bool all = false;  // leave nothing out
    // By thread: how long before the recording it had stopped; none where that is not known.
    std::map<std::uint32_t, std::uint64_t> stopped_before_ns;
    // By thread: what waited_files() says.
    std::map<std::uint32_t, std::string> files{};
};

// `pid` must be a process of the recording.
[[nodiscard]] std::string why_text(const analysis::Recording& recording, std::uint32_t pid, const WhyLook& look);

}  // namespace lagtrap::cli
