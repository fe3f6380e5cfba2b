// Stores runs: receives batches and answers queries about them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/sketch/sketch.hpp"
#include "server/store/activity.hpp"
#include "server/store/filter.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::server {

enum class AddOutcome { New, Already };

// The sender and time of an upload; `sender` is the name of the token, empty if the server needs
// none.
struct Receipt {
    std::string digest;  // SHA-256 of the bytes received, 64 lower-case hexadecimal digits
    std::uint64_t bytes = 0;
    std::uint64_t received_realtime_ns = 0;
    std::string sender;
};

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
inline constexpr const char* rule_reported = "reported";  // RecordedRun::dirty_reasons, marked when the run arrives

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

// Counts of runs that a filter selects. Weighted counts include the runs that the records stand
// for.
struct RunCounts {
    std::uint64_t records = 0;   // shown
    std::uint64_t hidden = 0;    // dirty records, whether or not with_dirty includes them
    std::uint64_t outliers = 0;  // records, whether or not without_outliers excludes them
    std::uint64_t runs = 0;      // weighted, shown
    std::uint64_t delays = 0;    // weighted, shown
};

struct HourCount {
    std::uint64_t hour_ns = 0;  // begin of the hour, UTC
    std::uint64_t runs = 0;     // weighted
    std::uint64_t delays = 0;
};

struct Summary {
    RunCounts counts;
    std::uint64_t longest_ns = 0;  // exact
    Sketch durations;              // of all shown, weighted
    Sketch delay_durations;        // of the delays among them
    std::vector<HourCount> hours;  // those with runs, in order
};

struct TrendPoint {
    std::uint64_t from_ns = 0;  // begin of the day, UTC
    std::string build;
    std::uint64_t runs = 0;  // weighted
    std::uint64_t delays = 0;
    Sketch durations;
};

enum class SplitBy { Host, Build, Unit };

struct SplitPoint {
    std::uint64_t runs = 0, delays = 0;  // weighted
    Sketch durations;

    void add(const SplitPoint& other);
};

// Runs of one host, build or unit.
struct SplitPart {
    std::string name;  // empty: unknown
    SplitPoint whole;
    std::map<std::uint64_t, SplitPoint> points;  // by begin of the unit of time, nanoseconds since 1970

    void add(const SplitPart& other);  // keeps its own name
};

struct SplitRuns {
    std::vector<SplitPart> parts;  // most delays first, then most runs
    std::uint64_t runs_read = 0;   // records, the newest; split() stops at its limit
    std::uint64_t from_ns = 0;     // begin of the oldest run read; 0 if there is none
};

// Runs of one host, build and unit, weighted. Without recorded runs: delays in bundles.
struct RunGroup {
    std::string host, build, unit;
    SplitPoint runs;
};

struct RunGroups {
    std::vector<RunGroup> groups;
    std::uint64_t runs_read = 0;  // records, the newest; run_groups() stops at its limit
    std::uint64_t from_ns = 0;    // begin of the oldest run read; 0 if there is none
};

struct EventRow {
    std::string event;
    std::uint64_t last_realtime_ns = 0;  // begin of its last run or delay
    std::uint64_t runs = 0;              // weighted, without hidden ones
    std::uint64_t delays = 0;            // of these, plus delays in bundles without a known run
    std::uint64_t hosts = 0;
    std::uint64_t bundles = 0;
};

struct EventPage {
    std::vector<EventRow> events;
    std::optional<PageKey> next;
};

// Runs that a machine reported only as a number, because it had no room for them or its daemon was
// killed.
struct HostLosses {
    std::string host;
    std::uint64_t runs = 0;
    std::uint64_t last_realtime_ns = 0;  // when the last batch with lost runs arrived
};

struct Losses {
    std::uint64_t runs = 0;         // of all hosts
    std::vector<HostLosses> hosts;  // most runs first, at most 20
};

struct Choices {
    std::vector<std::string> hosts, users, builds, processes, units;  // sorted; at most 10,000 each
    std::uint64_t from_realtime_ns = 0, to_realtime_ns = 0;           // first begin, last begin + 1; 0, 0 without runs
};

// A readable name of a build, such as "v1.2".
struct BuildLabel {
    std::string build;
    std::string name;
    std::string by;  // account or token; may be empty
    std::uint64_t at_realtime_ns = 0;
};
inline constexpr std::size_t build_name_limit_bytes = 64;

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

// Any thread; all functions block. Once a function that changes something returns, the change
// survives a power failure. Texts may be passed as received; they are made printable and cut to
// 1,024 bytes.
class RunStore {
  public:
    RunStore() = default;
    RunStore(const RunStore&) = delete;
    RunStore& operator=(const RunStore&) = delete;
    virtual ~RunStore() = default;

    // Adds all runs of the batch, or none if its digest exists or anything fails. Links its delays
    // with those of bundles. The batch's indices must be valid (trace::read_run_batch() checks
    // them).
    [[nodiscard]] virtual Result<AddOutcome> add_batch(const Receipt& receipt, const trace::RunBatch& batch) = 0;
    [[nodiscard]] virtual Result<bool> has_batch(const std::string& digest) = 0;

    // Events whose name contains `search` (ignoring ASCII case), most recently seen first; at most
    // page_limit.
    [[nodiscard]] virtual Result<EventPage> events(const Filter& filter, const std::string& search, std::uint32_t limit,
                                                   std::optional<PageKey> after) = 0;
    // Visits the events with runs or delays in the filter's time, by name; stops with the error
    // that `take` returns. Reads one row for each event, unit, build, kind of start and mark, and
    // the newest activity_delays_limit delays of each event. With a host, user or process in the
    // filter it reads all runs of the time instead.
    [[nodiscard]] virtual Status activity(const ActivityQuestion& question,
                                          const std::function<Status(EventActivity&&)>& take) = 0;
    // From batches that arrived in the filter's time, from its host. The events of lost runs are
    // unknown.
    [[nodiscard]] virtual Result<Losses> losses(const Filter& filter) = 0;
    // Of one event, or of all if `event` is empty.
    [[nodiscard]] virtual Result<Choices> choices(const std::string& event) = 0;

    // Sets the name of a build; an empty name removes it.
    [[nodiscard]] virtual Status label_build(const BuildLabel& label) = 0;
    // Names builds of runs or delays that have no name yet.
    [[nodiscard]] virtual Status name_builds(const std::vector<BuildLabel>& labels) = 0;
    // The newest 10,000, newest first.
    [[nodiscard]] virtual Result<std::vector<BuildLabel>> build_labels() = 0;

    // The functions below need Filter::event.
    [[nodiscard]] virtual Result<Summary> summary(const Filter& filter) = 0;
    [[nodiscard]] virtual Result<RunCounts> count_runs(const Filter& filter) = 0;
    // By day and build, in order of days.
    [[nodiscard]] virtual Result<std::vector<TrendPoint>> trend(const Filter& filter) = 0;
    // The newest `run_limit` runs, split by host, build or unit, and by hour or day.
    [[nodiscard]] virtual Result<SplitRuns> split(const Filter& filter, SplitBy by, ActivityUnit unit,
                                                  std::uint32_t run_limit) = 0;
    // The newest `run_limit` runs, or delays in bundles, by host, build and unit.
    [[nodiscard]] virtual Result<RunGroups> run_groups(const Filter& filter, bool of_delays,
                                                       std::uint32_t run_limit) = 0;
    [[nodiscard]] virtual Result<RunPage> runs(const Filter& filter, RunOrder order, std::uint32_t limit,
                                               std::optional<PageKey> after) = 0;
    // The newest `limit` (at most 1,000,000), newest first; includes hidden ones even without
    // with_dirty.
    [[nodiscard]] virtual Result<std::vector<RunDuration>> run_durations(const Filter& filter, std::uint32_t limit) = 0;
    // Of the newest `run_limit` runs. "begin" is the stage before the first marker.
    [[nodiscard]] virtual Result<StageStacks> stage_stacks(const Filter& filter, const std::string& stage,
                                                           std::uint32_t run_limit) = 0;

    // Of the newest `run_limit` runs.
    [[nodiscard]] virtual Result<TimedRuns> run_times(const Filter& filter, std::uint32_t run_limit) = 0;

    [[nodiscard]] virtual Result<std::optional<RunDetail>> find_run(std::uint64_t id) = 0;
    // In the order of `ids` (at most 10,000); skips missing runs.
    [[nodiscard]] virtual Result<std::vector<StoredRun>> find_runs(const std::vector<std::uint64_t>& ids) = 0;

    // Hides runs or shows them again. A rule's mark does not change a run that a person has decided
    // about. Returns how many runs changed; a missing run is not an error.
    [[nodiscard]] virtual Result<std::uint64_t> mark_dirty(const std::vector<DirtyMark>& marks) = 0;
    // All marks of a run, oldest first.
    [[nodiscard]] virtual Result<std::vector<DirtyMark>> dirty_marks(std::uint64_t run) = 0;
};

}  // namespace lagtrap::server
