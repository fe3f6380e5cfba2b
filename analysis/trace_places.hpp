// Lists the places of a merged trace and which of them have names; `lagtrap symbolize` uses it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "trace/names/later_names.hpp"

namespace lagtrap::analysis {

// Frames of all samples and waits, counted once per use of their stack.
struct FrameCounts {
    std::uint64_t frames = 0;
    std::uint64_t named = 0;
    std::uint64_t located = 0;  // with a source file
};

struct TracePlaces {
    FrameCounts counts;
    std::uint64_t last_ns = 0;  // time stamp of the trace's last packet
    // Programs and libraries with places that lack a name or source line, most used first. The
    // kernel and files without a build id are left out, because no file could be identified as the
    // right one.
    std::vector<trace::UnnamedModule> modules;
    std::uint64_t places_without_build_id = 0;
};

// Errors as decode_recording().
[[nodiscard]] Result<TracePlaces> read_places(std::string_view trace);

}  // namespace lagtrap::analysis
