#include "server/api/change_report.hpp"

namespace lagtrap::server {
namespace {

// The runs before or after the change.
struct ChangeSide {
    Filter filter;
    RunGroups groups;
    SplitPoint whole;
};

Result<ChangeSide> read_side(const SplitStore& store, Filter filter, std::uint64_t from_ns,
                             std::uint64_t to_ns, bool runs_recorded, std::uint32_t run_limit) {
    ChangeSide side;
    side.filter = std::move(filter);
    side.filter.from_ns = from_ns;
    side.filter.to_ns = to_ns;
    TRY_ASSIGN(side.groups, store.run_groups(side.filter, !runs_recorded, run_limit));
    // If not all were read, everything is about the time of those that were.
    if (side.groups.runs_read == run_limit) side.filter.from_ns = side.groups.from_ns;
    for (const RunGroup& group : side.groups.groups) side.whole.add(group.runs);
    return side;
}

double hours_of(const ChangeSide& side) {
    return static_cast<double>(*side.filter.to_ns - *side.filter.from_ns) /
           static_cast<double>(reports::hour_length_ns);
}

// What counts as slow: longer than a quantile of the durations before, or delays without a
// quantile.
class SlowRule {
  public:
    SlowRule(std::optional<double> quantile, const Sketch& before)
        : delays_(!quantile), bound_ns_(before.quantile_ns(quantile.value_or(0))) {}
    [[nodiscard]] double slow(const SplitPoint& runs) const {
        return static_cast<double>(delays_ ? runs.delays : runs.durations.count_above(bound_ns_));
    }

  private:
    bool delays_;
    std::uint64_t bound_ns_;
};

std::optional<double> quantile_of(reports::Figure figure) {
    if (figure == reports::Figure::Delays) return std::nullopt;
    return figure == reports::Figure::P50 ? 0.5 : 0.99;
}

SplitReport split_by(const std::string RunGroup::*name, const ChangeSide& before,
                     const ChangeSide& after, const SlowRule& rule, bool runs_recorded) {
    SplitReport report;
    std::map<std::string, reports::ChangedPart> parts;
    for (const ChangeSide* side : {&before, &after})
        for (const RunGroup& group : side->groups.groups) {
            reports::ChangedPart& part = parts[group.*name];
            PartRuns& durations = report.durations[group.*name];
            part.name = group.*name;
            // Without recorded runs, delays are counted by hour, and the hours are the same for
            // all.
            const double runs = runs_recorded ? static_cast<double>(group.runs.runs) : 0;
            (side == &before ? part.before : part.after).add({runs, rule.slow(group.runs)});
            (side == &before ? durations.before : durations.after).merge(group.runs.durations);
        }
    std::vector<reports::ChangedPart> list;
    for (auto& [text, part] : parts) {
        if (!runs_recorded) {
            part.before.runs = hours_of(before);
            part.after.runs = hours_of(after);
        }
        list.push_back(std::move(part));
    }
    report.split = reports::split_change(std::move(list));
    return report;
}

reports::DelayCounts counts_of(const ChangeSide& side, const SearchedDelays& searched,
                               bool runs_recorded) {
    return {runs_recorded ? static_cast<double>(side.whole.runs) : hours_of(side),
            static_cast<double>(side.whole.delays), static_cast<double>(searched.delays)};
}

Result<std::vector<reports::CauseShift>> shifts_of(const DelayStore& store,
                                                   const ChangeSide& before,
                                                   const ChangeSide& after, bool runs_recorded,
                                                   reports::Figure changed) {
    TRY_ASSIGN(const SearchedDelays searched_before, store.searched_delays(before.filter));
    TRY_ASSIGN(const SearchedDelays searched_after, store.searched_delays(after.filter));
    std::map<std::uint64_t, reports::CauseCounts> causes;
    for (const auto& [cause, delays] : searched_before.of_cause)
        causes[cause].before = static_cast<double>(delays);
    for (const auto& [cause, delays] : searched_after.of_cause)
        causes[cause].after = static_cast<double>(delays);
    std::vector<reports::CauseCounts> list;
    for (auto& [id, counts] : causes) {
        counts.cause = id;
        list.push_back(counts);
    }
    return reports::cause_shifts(counts_of(before, searched_before, runs_recorded),
                                 counts_of(after, searched_after, runs_recorded), list, changed);
}

}  // namespace

Result<ChangeReport> report_change(const Evidence& evidence, Filter filter,
                                   const reports::LastingChange& change, bool runs_recorded,
                                   std::uint64_t to_ns, std::uint32_t run_limit) {
    const std::uint64_t at_ns = change.step.from_ns;
    ChangeReport report;
    const reports::ComparedTimes times = reports::compared_times(at_ns, to_ns);
    TRY_ASSIGN(const ChangeSide before, read_side(evidence.splits(), filter, times.before_ns, at_ns,
                                                  runs_recorded, run_limit));
    TRY_ASSIGN(const ChangeSide after, read_side(evidence.splits(), std::move(filter), at_ns,
                                                 times.after_ns, runs_recorded, run_limit));
    report.before_ns = *before.filter.from_ns;
    report.to_ns = *after.filter.to_ns;
    const SlowRule rule(quantile_of(change.step.figure), before.whole.durations);
    report.hosts = split_by(&RunGroup::host, before, after, rule, runs_recorded);
    report.builds = split_by(&RunGroup::build, before, after, rule, runs_recorded);
    report.units = split_by(&RunGroup::unit, before, after, rule, runs_recorded);
    TRY_ASSIGN(report.causes,
               shifts_of(evidence.delays(), before, after, runs_recorded, change.step.figure));
    return report;
}

Result<SplitReport> compare_hosts(const SplitStore& store, const Filter& a, const Filter& b,
                                  double quantile, std::uint32_t run_limit) {
    ChangeSide before, after;
    for (const auto& [side, filter] : {std::pair(&before, &a), std::pair(&after, &b)}) {
        TRY_ASSIGN(side->groups, store.run_groups(*filter, false, run_limit));
        for (const RunGroup& group : side->groups.groups) side->whole.add(group.runs);
    }
    return split_by(&RunGroup::host, before, after, SlowRule(quantile, before.whole.durations),
                    true);
}

}  // namespace lagtrap::server
