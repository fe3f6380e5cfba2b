// Turns a capture into its bundle: merges it, packs it, and puts it into the spool exactly once,
// even if the process is killed and restarted any number of times.
//
// Two merges of the same capture may give different bytes, because files of the machine may have
// changed in between. So before a complete bundle gets its name in the spool, a note of it,
// bundle.json, is written into the capture. A process that finds a note finishes that bundle and
// makes no other.
#pragma once

#include <filesystem>
#include <optional>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "trace/bundle/bundle.hpp"
#include "trace/merge/merge.hpp"

namespace lagtrap::trace {

struct CaptureBundle {
    BundleInfo bundle;
    bool made_before = false;  // by an earlier process; `merged` is then empty
    MergeSummary merged;
};

// The exclusive right to make a capture's bundle; released on destruction.
struct CaptureClaim {
    UniqueFd lock;
    // The bundle, if a note of one existed. It now has its name, or had it and has left the folder
    // since.
    std::optional<CaptureBundle> made;
};

// Waits while another process holds the claim. If there is a note, finishes that bundle; otherwise
// removes leftovers of earlier attempts from `output_directory`. Reads only what the daemon wrote.
[[nodiscard]] Result<CaptureClaim> claim_capture(const std::filesystem::path& capture_directory,
                                                 const std::filesystem::path& output_directory);

// Merges a capture that is claimed and not yet made, and puts its bundle into `output_directory`.
// After an error, another claim starts over, or finishes the bundle if it was complete.
[[nodiscard]] Result<CaptureBundle> bundle_capture(const std::filesystem::path& capture_directory,
                                                   const std::filesystem::path& output_directory,
                                                   const MergeOptions& options = {});

}  // namespace lagtrap::trace
