#include "cli/runs/run_summary.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "core/files.hpp"

namespace lagtrap::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view batch_ending = ".runs.zst";

// How `wish` ranks the run: higher first.
std::uint64_t rank_of(const trace::RecordedRun& run, const RunWish& wish) {
    if (!wish.slowest) return run.begin_realtime_ns;
    if (!wish.span.is_whole()) return length_of(wish.span, run).value_or(0);
    if (wish.stage.empty()) return run.duration_ns;
    std::uint64_t length_ns = 0;
    for (const RunStageTime& stage : stages_of(run))
        if (stage.name == wish.stage) length_ns += stage.duration_ns;
    return length_ns;
}

void sort_runs(std::vector<trace::RecordedRun>& runs, const RunWish& wish) {
    std::stable_sort(runs.begin(), runs.end(), [&](const auto& a, const auto& b) {
        return rank_of(a, wish) > rank_of(b, wish);
    });
    if (runs.size() > wish.runs_kept) runs.resize(wish.runs_kept);
}

Durations& durations_of(RunSummary& summary, const std::string& stage) {
    for (auto& [name, durations] : summary.stages)
        if (name == stage) return durations;
    return summary.stages.emplace_back(stage, Durations()).second;
}

constexpr std::array states{"ready", "sending", "sent", "rejected"};

// One of a name, in whatever folders it was seen.
struct BatchFile {
    std::string name;
    fs::file_time_type made;
};

// It may move on at any time, but never back before the uploader has tried to send it.
Result<std::string> read_batch(const fs::path& spool, const std::string& name) {
    for (const char* state : states) {
        auto bytes = read_file(spool / state / name, trace::run_batch_limit_bytes);
        if (bytes || bytes.error().kind != ErrorKind::NotFound) return bytes;
    }
    return make_error(ErrorKind::NotFound, name + ": removed");
}

// Other files and links are skipped.
Status add_batches(const fs::path& folder, std::vector<BatchFile>& found) {
    std::error_code failure;
    fs::directory_iterator entries(folder, failure);
    if (failure == std::errc::no_such_file_or_directory) return success();
    for (; !failure && entries != fs::directory_iterator(); entries.increment(failure)) {
        std::error_code vanished;
        if (!entries->path().filename().string().ends_with(batch_ending) ||
            !fs::is_regular_file(entries->symlink_status(vanished)))
            continue;
        const auto made = fs::last_write_time(entries->path(), vanished);
        if (!vanished) found.push_back({entries->path().filename().string(), made});
    }
    if (failure) return system_error("search for runs in " + folder.string(), failure.value());
    return success();
}

std::uint64_t realtime_of(fs::file_time_type time) {
    const auto since_epoch = fs::file_time_type::clock::to_sys(time).time_since_epoch();
    return static_cast<std::uint64_t>(std::max<std::int64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count(), 0));
}

}  // namespace

void Durations::add(std::uint64_t duration_ns, std::uint32_t weight) {
    values_.emplace_back(duration_ns, weight);
    runs_ += weight;
}

void Durations::sort() { std::sort(values_.begin(), values_.end()); }

std::uint64_t Durations::percentile_ns(double share) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(runs_)));
    std::uint64_t seen = 0;
    for (const auto& [duration_ns, weight] : values_) {
        seen += weight;
        if (seen >= wanted) return duration_ns;
    }
    return longest_ns();
}

std::vector<RunStageTime> stages_of(const trace::RecordedRun& run) {
    std::vector<RunStageTime> stages;
    if (run.stages.empty()) return stages;
    std::string name;
    std::uint64_t begin_ns = 0;
    const auto add = [&](std::uint64_t end_ns) {
        stages.push_back({name, end_ns > begin_ns ? end_ns - begin_ns : 0});
        begin_ns = std::max(begin_ns, end_ns);
    };
    for (const trace::RunStage& stage : run.stages) {
        add(std::min(stage.at_ns, run.duration_ns));
        name = stage.name;
    }
    add(run.duration_ns);
    return stages;
}

std::optional<std::uint64_t> length_of(const RunSpan& span, const trace::RecordedRun& run) {
    auto next = run.stages.begin();
    const auto reach = [&](const std::string& name) -> std::optional<std::uint64_t> {
        next = std::find_if(next, run.stages.end(),
                            [&](const auto& stage) { return stage.name == name; });
        if (next == run.stages.end()) return std::nullopt;
        return std::min(next++->at_ns, run.duration_ns);
    };
    const auto from_ns = span.from.empty() ? std::optional<std::uint64_t>(0) : reach(span.from);
    if (!from_ns) return std::nullopt;
    const auto to_ns = span.to.empty() ? std::optional(run.duration_ns) : reach(span.to);
    if (!to_ns) return std::nullopt;
    return *to_ns - std::min(*to_ns, *from_ns);
}

void RunSummary::add(const trace::RunBatch& batch, const RunWish& wish) {
    lost += batch.runs_lost;
    for (const trace::RecordedRun& run : batch.runs) {
        if (run.begin_realtime_ns < wish.since_realtime_ns) continue;
        events[run.event] += run.weight;
        if (run.event != wish.event) continue;
        if (first_realtime_ns == 0 || run.begin_realtime_ns < first_realtime_ns)
            first_realtime_ns = run.begin_realtime_ns;
        last_realtime_ns = std::max(last_realtime_ns, run.begin_realtime_ns);
        delays += run.delay ? run.weight : 0;
        runs.push_back(run);
        if (run.dirty_reasons != 0) {
            dirty += run.weight;
            continue;
        }
        whole.add(run.duration_ns, run.weight);
        for (const RunStageTime& stage : stages_of(run))
            durations_of(*this, stage.name).add(stage.duration_ns, run.weight);
        if (wish.span.is_whole()) continue;
        if (const auto length_ns = length_of(wish.span, run)) {
            span.add(*length_ns, run.weight);
        } else {
            without_span += run.weight;
        }
    }
    sort_runs(runs, wish);
}

void RunSummary::finish(const RunWish& wish) {
    whole.sort();
    span.sort();
    for (auto& [name, durations] : stages) durations.sort();
    sort_runs(runs, wish);
}

Result<SpoolRuns> read_runs(const fs::path& spool, const RunWish& wish) {
    std::vector<BatchFile> files;
    for (const char* state : states) TRY(add_batches(spool / state, files));
    std::sort(files.begin(), files.end(), [](const BatchFile& a, const BatchFile& b) {
        return std::tie(a.made, a.name) < std::tie(b.made, b.name);
    });
    const auto is_same = [](const BatchFile& a, const BatchFile& b) { return a.name == b.name; };
    files.erase(std::unique(files.begin(), files.end(), is_same), files.end());
    SpoolRuns found;
    for (const BatchFile& file : files) {
        if (realtime_of(file.made) < wish.since_realtime_ns) continue;
        const auto bytes = read_batch(spool, file.name);
        if (!bytes && bytes.error().kind == ErrorKind::NotFound) continue;  // removed meanwhile
        const auto batch =
            bytes ? trace::read_run_batch(*bytes) : Result<trace::RunBatch>(bytes.error());
        if (!batch) {
            found.unreadable.push_back({file.name, batch.error().message});
            continue;
        }
        ++found.batches;
        found.summary.add(*batch, wish);
    }
    found.summary.finish(wish);
    return found;
}

}  // namespace lagtrap::cli
