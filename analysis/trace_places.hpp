// The places in programs that a merged trace has, and which of them have names: what `lagtrap symbolize` works on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/names/later_names.hpp"

namespace lagtrap::analysis {

// Frames of all samples and waits; each counts as often as its stack.
struct FrameCounts {
    std::uint64_t frames = 0;
    std::uint64_t named = 0;
    std::uint64_t located = 0;  // have a source file
};

struct TracePlaces {
    FrameCounts counts;
    std::uint64_t last_ns = 0;  // time stamp of the trace's last packet
    // Programs and libraries with places that have no name or no source line, the most used first. The kernel and files
    // without a build id are left out: nothing says which file is the right one.
    std::vector<trace::UnnamedModule> modules;
    std::uint64_t places_without_build_id = 0;
};

// Errors as decode_recording().
[[nodiscard]] Result<TracePlaces> read_places(std::string_view trace);

}  // namespace lagtrap::analysis
