// The delays of several recordings: a line for each, and their causes, counted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "analysis/recording.hpp"
#include "cli/reports/report_text.hpp"
#include "core/result.hpp"

namespace lagtrap::cli {

struct DelaySummary {
    std::size_t recording = 0;  // index of its recording in DelayList::files
    std::size_t number = 0;     // from 1, within its recording
    std::string session;
    std::string event;
    std::string process;
    std::uint64_t pid = 0;
    std::uint64_t began_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    bool open = false;
    std::string cause;     // analysis::short_cause()
    std::string sentence;  // the first of analysis::cause_sentences()
};

struct DelayList {
    struct Failure {
        std::string file;
        std::string reason;
    };
    std::vector<std::string> files;     // recordings that could be read
    std::vector<DelaySummary> delays;   // newest first
    std::vector<Failure> unreadable;    // recordings that could not
    std::uint64_t recordings_left = 0;  // older recordings that were not read
    std::uint64_t delays_left = 0;      // shorter delays of a recording beyond its limit
};

struct CauseCount {
    std::string cause;
    std::uint64_t delays = 0;
    std::uint64_t total_ns = 0;
};

// Most frequent first; those with the same count by their total duration.
[[nodiscard]] std::vector<CauseCount> count_causes(const DelayList& list);

// The delays of one recording as JSON; its longest 200 if there are more.
[[nodiscard]] std::string summarize_delays(const analysis::Recording& recording);

// Appends what summarize_delays() returned for `file`. An error says that it is not such a text.
[[nodiscard]] Status add_summary(const std::string& summary, const std::string& file,
                                 DelayList& list);

// Sorts `list.delays` by time, newest first. Call it after the last add_summary().
void sort_newest_first(DelayList& list);

// Index of the longest delay; nullopt if there is none.
[[nodiscard]] std::optional<std::size_t> slowest_delay(const DelayList& list);

// The causes, most frequent first, then the delays, newest first; `look.all` omits none. `note`
// follows the title of the delays, and `hint` the number of those that are not shown.
[[nodiscard]] std::string causes_and_delays(const DelayList& list, const ReportLook& look,
                                            const std::string& note, const std::string& hint = {});

// The same below a headline, for a command with --delay.
[[nodiscard]] std::string delay_list_text(const DelayList& list, const ReportLook& look);
[[nodiscard]] boost::json::object delay_list_json(const DelayList& list);

}  // namespace lagtrap::cli
