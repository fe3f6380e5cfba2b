// Where a lasting change of an event happened, and which causes came with it.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "server/reports/change_causes.hpp"
#include "server/reports/change_split.hpp"
#include "server/reports/event_trend.hpp"
#include "server/store/store.hpp"

namespace lagtrap::server {

// A host, build or unit before and after a change. Sketches are of all its runs.
struct PartRuns {
    Sketch before, after;
};

struct SplitReport {
    reports::ChangeSplit split;
    std::map<std::string, PartRuns> durations;  // by name of the part
};

struct ChangeReport {
    std::uint64_t before_ns = 0, to_ns = 0;  // the runs before and after the change that were read
    SplitReport hosts, builds, units;
    std::vector<reports::CauseShift> causes;  // those that came with it first
};

// `filter` names the event; its times are ignored. Reads at most `run_limit` runs, the newest, of
// the week before the change and of the time after it, up to `to_ns` or a week.
[[nodiscard]] Result<ChangeReport> report_change(const Evidence& evidence, Filter filter,
                                                 const reports::LastingChange& change,
                                                 bool runs_recorded, std::uint64_t to_ns,
                                                 std::uint32_t run_limit);

// Two sets of an event's runs by host, `a` as before and `b` as after. Runs longer than this
// quantile of `a` are slow. Reads the newest runs of each, at most `run_limit`.
[[nodiscard]] Result<SplitReport> compare_hosts(const SplitStore& store, const Filter& a,
                                                const Filter& b, double quantile,
                                                std::uint32_t run_limit);

}  // namespace lagtrap::server
