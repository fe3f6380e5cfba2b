// What the spool's batches say about the runs of one event: how long they and their stages took.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::cli {

// Durations, each with the number of runs it stands for.
class Durations {
  public:
    void add(std::uint64_t duration_ns, std::uint32_t weight);
    // Call it after the last add(), before percentile_ns().
    void sort();
    // The shortest duration that a share (0 to 1) of the runs do not exceed; 0 without runs.
    [[nodiscard]] std::uint64_t percentile_ns(double share) const;
    [[nodiscard]] std::uint64_t runs() const { return runs_; }
    [[nodiscard]] std::uint64_t longest_ns() const {
        return values_.empty() ? 0 : values_.back().first;
    }

  private:
    std::vector<std::pair<std::uint64_t, std::uint32_t>> values_;
    std::uint64_t runs_ = 0;
};

struct RunStageTime {
    std::string name;  // "" for the time before the first stage
    std::uint64_t duration_ns = 0;
};

// From one marker of the run to the next. Empty if the run has no stages.
[[nodiscard]] std::vector<RunStageTime> stages_of(const trace::RecordedRun& run);

// A part of a run between two of its points: stages, or its begin and end if empty.
struct RunSpan {
    std::string from;
    std::string to;
    [[nodiscard]] bool is_whole() const { return from.empty() && to.empty(); }
};

// From the first time the run reaches the one point to the first time it reaches the other after
// that; nullopt if it does not.
[[nodiscard]] std::optional<std::uint64_t> length_of(const RunSpan& span,
                                                     const trace::RecordedRun& run);

struct RunWish {
    std::string event;
    std::uint64_t since_realtime_ns = 0;  // omit runs that began before
    // rank runs by the length of this stage; empty: by their duration
    std::string stage;
    bool slowest = false;  // keep the longest runs, otherwise the newest
    // rank runs by the length of this part, unless it is the whole run
    RunSpan span{};
    std::size_t runs_kept = 20;  // in RunSummary::runs
};

struct RunSummary {
    Durations whole;
    std::vector<std::pair<std::string, Durations>> stages;  // in the order in which runs have them
    // of RunWish::span, for runs that have it
    Durations span;
    // longest or newest first; at most RunWish::runs_kept
    std::vector<trace::RecordedRun> runs;
    std::uint64_t delays = 0;
    // whose duration says nothing (suspended, failed, ...); not in the durations
    std::uint64_t dirty = 0;
    std::uint64_t lost = 0;  // known by number only, of all events in these batches
    std::uint64_t first_realtime_ns = 0, last_realtime_ns = 0;
    // runs with a duration, but not the two points in this order
    std::uint64_t without_span = 0;
    // runs of each event in the batches, whatever the wish
    std::map<std::string, std::uint64_t> events;

    void add(const trace::RunBatch& batch, const RunWish& wish);
    // Call it after the last add().
    void finish(const RunWish& wish);
};

struct BatchFailure {
    std::string file;
    std::string reason;
};

struct SpoolRuns {
    RunSummary summary;
    std::uint64_t batches = 0;
    std::vector<BatchFailure> unreadable;
};

// Reads the batches of runs in a spool that were made since then. A missing spool has none.
[[nodiscard]] Result<SpoolRuns> read_runs(const std::filesystem::path& spool, const RunWish& wish);

}  // namespace lagtrap::cli
