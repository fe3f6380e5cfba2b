// The file that keeps durations of runs and thresholds over restarts of the daemon
// (docs/formats.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "daemon/thresholds/run_history.hpp"
#include "daemon/thresholds/threshold_policy.hpp"

namespace lagtrap::daemon {

struct StoredHistory {
    std::map<std::string, EventRuns> runs;  // by event
    // likewise, for those that follow from the runs
    std::map<std::string, ThresholdState> thresholds;
};

[[nodiscard]] std::string history_text(const std::map<std::string, EventRuns>& runs,
                                       const std::map<std::string, ThresholdState>& thresholds);
// ErrorKind::Invalid if it is not such a text, of another version, or exceeds the limits of
// RunHistory.
[[nodiscard]] Result<StoredHistory> parse_history(std::string_view text);

// The file in a spool.
[[nodiscard]] std::filesystem::path history_file_of(const std::filesystem::path& spool);
// An empty history if there is no file. Other errors: it cannot be read, or parse_history() fails.
[[nodiscard]] Result<StoredHistory> read_history(const std::filesystem::path& file);
// Replaces the file atomically. Members of its group may read it.
[[nodiscard]] Status write_history(const std::filesystem::path& file, std::string_view text);

}  // namespace lagtrap::daemon
