// What `lagtrap live` shows, independent of the terminal: figures for the last seconds from the
// daemon's answers, and the lines of a screen.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "cli/status/histogram.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli {

struct ScreenSize {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

// What an event did in a period.
struct LiveFigures {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t timed_ns = 0, on_cpu_ns = 0, runnable_ns = 0;  // of the threads with runs
    std::vector<HistogramBucket> histogram;
};

struct LiveEvent {
    std::string name;
    std::string trouble;       // from trouble_of()
    std::string threshold;     // as text
    std::uint64_t delays = 0;  // in total
    LiveFigures recent;
    double runs_per_second = 0;
};

class LiveState {
  public:
    // Takes an answer to {"command":"status"} and when it arrived (CLOCK_MONOTONIC, wall clock).
    // Returns true if there is a new bundle since the previous answer; false for the first answer.
    bool take(boost::json::object answer, std::uint64_t now_ns, std::uint64_t realtime_ns);
    // The daemon did not answer.
    void fail(std::string reason) { problem_ = std::move(reason); }
    // Adds the delays of a bundle, from its system file.
    void add_delays(const trace::SystemFile& system);
    // Adds a line to the log, which shows the newest first and keeps at most 200.
    void note(std::uint64_t realtime_ns, std::string text);

    // Moves the selection by `step` rows, within the list.
    void choose(int step);
    [[nodiscard]] std::string chosen() const;  // name of the selected event; empty if there is none
    [[nodiscard]] const boost::json::object& answer() const { return answer_; }

    // Exactly `size.rows` lines of at most `size.columns` characters. `message` is shown above the
    // keys.
    [[nodiscard]] std::vector<std::string> screen(const Paint& paint, ScreenSize size,
                                                  std::string_view message) const;
    [[nodiscard]] const std::vector<LiveEvent>& events() const { return events_; }

  private:
    struct Kept {
        std::uint64_t at_ns = 0;
        std::map<std::string, LiveFigures> figures;  // by event, since the settings came into force
    };
    void note_changes(const boost::json::object& before, std::uint64_t realtime_ns);

    boost::json::object answer_;
    std::string problem_;
    std::deque<Kept> kept_;  // in time order
    std::vector<LiveEvent> events_;
    std::deque<std::string> notes_;
    std::uint64_t realtime_ns_ = 0;
    std::size_t chosen_ = 0;
};

// "13:35:02", in the machine's time zone.
[[nodiscard]] std::string clock_of(std::uint64_t realtime_ns);

}  // namespace lagtrap::cli
