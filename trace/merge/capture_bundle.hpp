// From a capture to its bundle: merged, packed and put into the spool exactly once, however often the one who does it
// is killed and another begins again.
//
// Two merges of one capture need not give the same bytes (the machine's files may have changed between them), so a bundle that
// is whole gets a note in the capture, bundle.json, before it gets its name in the spool. Whoever finds a note finishes
// that bundle and makes no other.
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
    bool made_before = false;  // an earlier process made it; `merged` is empty then
    MergeSummary merged;
};

// The right to make the bundle of a capture, as long as it lives.
struct CaptureClaim {
    UniqueFd lock;
    // The bundle, if there was a note of one: it has its name now, or had it and has left the folder since.
    std::optional<CaptureBundle> made;
};

// Waits while another process has the claim. Finishes the bundle that a note tells of; where there is none, removes what was
// left in `output_directory` of earlier attempts. Reads nothing that did not come from the daemon.
[[nodiscard]] Result<CaptureClaim> claim_capture(const std::filesystem::path& capture_directory,
                                                 const std::filesystem::path& output_directory);

// Merges a capture that is claimed and not made yet, and puts its bundle into `output_directory`. After an error another
// claim begins again, or finishes what is whole already.
[[nodiscard]] Result<CaptureBundle> bundle_capture(const std::filesystem::path& capture_directory,
                                                   const std::filesystem::path& output_directory,
                                                   const MergeOptions& options = {});

}  // namespace lagtrap::trace
