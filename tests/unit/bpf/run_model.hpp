// A model of runs and threads' time with plain lists, which the property test compares with the
// programs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/unit/bpf/machine.hpp"

namespace lagtrap::native {

struct ModelEvent {
    std::uint32_t flags;
    std::uint32_t nesting;
    std::uint64_t threshold_ns;
    bool by_frame = false;  // calls are identified by their frames
};

struct ModelRun {
    std::uint32_t depth = 0, begin_tid = 0, last_tid = 0;
    std::uint64_t begin_ns = 0, last_hit_ns = 0, handed_over_ns = 0, stack_pointer = 0, site = 0;
    bool opened = true;  // false: it was nested too deeply
    bool doubtful = false;
    std::uint32_t inside = 0;  // of outermost runs: begins inside it
    std::vector<lagtrap_stage_hit> stages;
    lagtrap_time_parts parts{}, sums_at_hit{};
};

class RunModel {
  public:
    explicit RunModel(std::vector<ModelEvent> events);

    // Time passes, and threads use it.
    void pass(std::uint64_t elapsed_ns);
    void set_state(std::uint32_t tid, lagtrap_thread_state state, std::uint32_t wait_class = 0);

    void begin(std::uint32_t event, std::uint32_t tid, const Hit& hit);
    void stage(std::uint32_t event, std::uint32_t tid, std::uint16_t stage, std::uint16_t cpu,
               const Hit& hit);
    // The run that ends.
    std::optional<ModelRun> end(std::uint32_t event, std::uint32_t tid, const Hit& hit);

    [[nodiscard]] std::size_t open_runs() const;
    [[nodiscard]] std::size_t depth(std::uint32_t event, std::uint32_t tid, const Hit& hit);
    [[nodiscard]] const lagtrap_event_counters& counters(std::uint32_t event) const {
        return counters_[event];
    }

    std::uint64_t now_ns = 0;

  private:
    struct Thread {
        lagtrap_thread_state state = LAGTRAP_THREAD_RUNNABLE;
        std::uint32_t wait_class = 0;
        lagtrap_time_parts sums{};
    };
    using Runs = std::vector<ModelRun>;  // innermost last

    [[nodiscard]] bool has(std::uint32_t event, std::uint32_t flag) const {
        return (events_[event].flags & flag) != 0;
    }
    Runs& runs_of(std::uint32_t event, std::uint32_t tid, const Hit& hit);
    void open(std::uint32_t event, Runs& runs, std::uint32_t tid, const Hit& hit);
    void count_unended(std::uint32_t event, const ModelRun& run);
    void count_left_call(std::uint32_t event);
    void drop_left(std::uint32_t event, Runs& runs, const Hit& hit);
    bool begin_around(std::uint32_t event, ModelRun& run, const Hit& hit);
    void drop_unended(std::uint32_t event, Runs& runs, const Hit& hit);
    bool drop_calls_inside(std::uint32_t event, Runs& runs, const Hit& hit);
    void count_hit(ModelRun& run, std::uint32_t tid);
    void finish(std::uint32_t event, ModelRun& run, std::uint32_t tid);
    void finish_times(std::uint32_t event, ModelRun& run, std::uint32_t tid);

    std::vector<ModelEvent> events_;
    std::vector<lagtrap_event_counters> counters_;
    std::map<std::uint32_t, Thread> threads_;
    std::map<std::pair<std::uint32_t, std::uint64_t>, Runs> runs_;
};

}  // namespace lagtrap::native
