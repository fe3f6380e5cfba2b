// What `lagtrap live` shows, apart from the terminal: figures of the last seconds out of the daemon's answers, and the
// lines of a screen.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "cli/console/console.hpp"
#include "cli/status/status_text.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::cli {

struct ScreenSize {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

// What an event did within a stretch of time.
struct LiveFigures {
    std::uint64_t runs = 0;
    std::uint64_t delays = 0;
    std::uint64_t timed_ns = 0, on_cpu_ns = 0, runnable_ns = 0;  // of the threads with runs
    std::vector<HistogramBucket> histogram;
};

struct LiveEvent {
    std::string name;
    std::string trouble;  // "off", "shed", "arming"; empty: it is watched
    std::uint64_t threshold_ns = 0;
    std::uint64_t delays = 0;  // in all
    LiveFigures recent;
    double runs_per_second = 0;
};

class LiveState {
  public:
    // An answer to {"command":"status"}, and when it came (CLOCK_MONOTONIC, wall clock). True: there is a bundle that the
    // answer before did not have; the first answer's is none.
    bool take(boost::json::object answer, std::uint64_t now_ns, std::uint64_t realtime_ns);
    // The daemon gave none.
    void fail(std::string reason) { problem_ = std::move(reason); }
    // The delays of a bundle, as its system file has them.
    void add_delays(const trace::SystemFile& system);
    // A line of what happens, newest first; at most 200 are kept.
    void note(std::uint64_t realtime_ns, std::string text);

    // Moves the choice by `step` rows, within what there is.
    void choose(int step);
    [[nodiscard]] std::string chosen() const;  // name of an event; empty: there is none
    [[nodiscard]] const boost::json::object& answer() const { return answer_; }

    // Exactly `size.rows` lines of at most `size.columns` characters. `message` stands above the keys.
    [[nodiscard]] std::vector<std::string> screen(const Paint& paint, ScreenSize size, std::string_view message) const;
    [[nodiscard]] const std::vector<LiveEvent>& events() const { return events_; }

  private:
    struct Kept {
        std::uint64_t at_ns = 0;
        std::map<std::string, LiveFigures> figures;  // by event, since the settings came into force
    };
    void note_changes(const boost::json::object& before, std::uint64_t realtime_ns);

    boost::json::object answer_;
    std::string problem_;
    std::deque<Kept> kept_;  // by time
    std::vector<LiveEvent> events_;
    std::deque<std::string> notes_;
    std::uint64_t realtime_ns_ = 0;
    std::size_t chosen_ = 0;
};

// "13:35:02", in the time zone of the machine.
[[nodiscard]] std::string clock_of(std::uint64_t realtime_ns);

}  // namespace lagtrap::cli
