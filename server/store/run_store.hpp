// Stores runs: lists of them, and each with its stages and stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/filter.hpp"
#include "server/store/sight.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

class Connection;
class SqlSession;
struct NumberedFilter;
struct RawRun;

// Why a run is hidden, marked as an outlier (rule_duration; not hidden), or shown again. The latest
// mark of a run applies; marks are never deleted.
struct DirtyMark {
    std::uint64_t run = 0;
    bool dirty = true;
    std::string rule;    // name of the rule; rule_by_hand for a person
    std::string reason;  // in words
    std::string by;      // account or part of the server
    std::uint64_t at_realtime_ns = 0;
};

inline constexpr const char* rule_by_hand = "by hand";
inline constexpr const char* rule_duration = "duration";  // an outlier; hides nothing
// RecordedRun::dirty_reasons, marked when the run arrives
inline constexpr const char* rule_reported = "reported";
struct StoredStage {
    std::string name;
    std::uint64_t at_ns = 0;        // after the begin of the run
    std::uint64_t duration_ns = 0;  // until the next marker
    std::uint32_t tid = 0;
};

struct StoredRun {
    std::uint64_t id = 0;  // below 2^63
    std::string event;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint64_t threshold_ns = 0;
    std::uint64_t key = 0;
    std::string host, user, build, process, unit, executable, thread;
    std::uint32_t pid = 0, begin_tid = 0, end_tid = 0;
    trace::StartKind start = trace::StartKind::Unknown;
    bool delay = false;
    bool aborted = false;
    bool without_stages = false;  // stages were not watched during the whole run, so it has none
    std::uint32_t weight = 1;
    std::optional<std::string> bundle;  // digest of the bundle that has this run as a delay
    std::uint32_t bundle_delay = 0;     // the delay's number there
    std::optional<DirtyMark> dirty;     // the current mark, if it hides the run
    std::optional<DirtyMark> outlier;   // the current mark, if it says that the duration differs
    std::vector<StoredStage> stages;    // without the part before the first marker
    std::optional<trace::RunTimes> times;
};

// A marker of a run with its stack, innermost frame first.
struct MarkerHit {
    std::string name;  // "begin", the stages' names, "end"
    std::uint64_t at_ns = 0;
    std::uint32_t tid = 0;
    trace::RunStack stack;
};

struct RunDetail {
    StoredRun run;
    std::vector<MarkerHit> markers;
};

enum class RunOrder { Newest, Slowest, Oldest };  // Oldest: only for delays
struct RunPage {
    std::vector<StoredRun> runs;
    std::optional<PageKey> next;
};

// The parts of a run that a rule about durations needs.
struct RunDuration {
    std::uint64_t id = 0;
    std::uint64_t begin_realtime_ns = 0;
    std::uint64_t duration_ns = 0;
    std::uint32_t weight = 1;
    trace::StartKind start = trace::StartKind::Unknown;
    bool delay = false;
    bool dirty = false;
    bool outlier = false;
    bool by_hand = false;  // a person decided; rules must not change it
    std::string build;
    std::string host;
};

struct StageStack {
    trace::RunStack frames;
    std::uint64_t hits = 0;
    std::uint64_t median_ns = 0;  // of the stage's duration in these runs
    std::uint64_t longest_ns = 0;
};

struct StageStacks {
    std::vector<StageStack> stacks;  // most hits first, at most 1,000
    std::uint64_t runs_read = 0;     // the newest; stage_stacks() stops at its limit
};

struct TimedRun {
    std::uint64_t duration_ns = 0;
    std::uint32_t weight = 1;
    trace::RunTimes times;
};

struct TimedRuns {
    std::vector<TimedRun> runs;   // those with a time split
    std::uint64_t runs_read = 0;  // the newest; run_times() stops at its limit
};

inline constexpr std::uint32_t page_limit = 1000;

// Shows only what is visible. The rules of Store apply.
class RunStore {
  public:
    RunStore(SqlSession& session, Visibility visibility)
        : session_(&session), visibility_(std::move(visibility)) {}

    [[nodiscard]] Result<RunPage> list(const Filter& filter, RunOrder order, std::uint32_t limit,
                                       std::optional<PageKey> after) const;
    // The newest `limit` (at most 1,000,000), newest first; includes hidden ones even without
    // with_dirty.
    [[nodiscard]] Result<std::vector<RunDuration>> run_durations(const Filter& filter,
                                                                 std::uint32_t limit) const;
    // Of the newest `run_limit` runs. "begin" is the stage before the first marker.
    [[nodiscard]] Result<StageStacks> stage_stacks(const Filter& filter, const std::string& stage,
                                                   std::uint32_t run_limit) const;
    // Of the newest `run_limit` runs.
    [[nodiscard]] Result<TimedRuns> run_times(const Filter& filter, std::uint32_t run_limit) const;
    [[nodiscard]] Result<std::optional<RunDetail>> find_run(std::uint64_t id) const;
    // In the order of `ids` (at most 10,000); skips missing runs.
    [[nodiscard]] Result<std::vector<StoredRun>> find_runs(
        const std::vector<std::uint64_t>& ids) const;

  private:
    // The newest runs that the filter selects, in no order.
    [[nodiscard]] Result<std::vector<RawRun>> newest_runs(Connection& connection,
                                                          const NumberedFilter& numbered,
                                                          std::uint32_t limit) const;
    // Adds names, marks and bundles, in the order of `raw`.
    [[nodiscard]] Result<std::vector<StoredRun>> fill_in_runs(Connection& connection,
                                                              const std::vector<RawRun>& raw) const;
    [[nodiscard]] Status add_links(Connection& connection, std::vector<StoredRun>& runs) const;
    [[nodiscard]] Status add_marks(Connection& connection, std::vector<StoredRun>& runs) const;
    [[nodiscard]] Result<trace::RunStack> load_stack(Connection& connection,
                                                     std::uint64_t id) const;
    [[nodiscard]] Result<std::vector<RawRun>> select_runs(
        Connection& connection, const std::vector<std::uint64_t>& ids) const;

    SqlSession* session_;
    Visibility visibility_;
};

}  // namespace lagtrap::server
