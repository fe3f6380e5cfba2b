#include "server/api/change_json.hpp"

#include "server/api/cause_routes.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t changed_parts_limit = 1000;

json::object duration_pair_json(const PartRuns& runs, double quantile) {
    return {{"before_ns", json_number(runs.before.quantile_ns(quantile))},
            {"after_ns", json_number(runs.after.quantile_ns(quantile))}};
}

json::object slow_runs_json(const reports::SlowRuns& runs) {
    return {{"runs", runs.runs}, {"slow", runs.slow}, {"share", runs.share()}};
}

}  // namespace

json::object change_json(const reports::LastingChange& change) {
    return {{"measure", std::string(reports::figure_name(change.step.figure))},
            {"from_ns", json_digits(change.step.from_ns)},
            {"from_first_run", change.from_first_run},
            {"before", change.step.before},
            {"after", change.step.after},
            {"p_value", share_or_null(change.step.p_value)},
            {"build", text_or_null(change.build)}};
}

json::object extent_json(const reports::ChangeSplit& split) {
    return {{"changed", json_number(split.changed)},
            {"total", json_number(split.parts.size())},
            {"concentrated", split.concentrated},
            {"pattern", text_or_null(split.pattern)}};
}

json::object split_report_json(const SplitReport& report) {
    json::object answer = extent_json(report.split);
    json::array parts;
    for (const reports::ChangedPart& part : report.split.parts) {
        if (parts.size() == changed_parts_limit) break;
        const auto durations = report.durations.find(part.name);
        const PartRuns& runs = durations == report.durations.end() ? PartRuns() : durations->second;
        parts.push_back({{"name", part.name},
                         {"changed", part.changed},
                         {"before", slow_runs_json(part.before)},
                         {"after", slow_runs_json(part.after)},
                         {"p50", duration_pair_json(runs, 0.5)},
                         {"p99", duration_pair_json(runs, 0.99)}});
    }
    answer["parts"] = std::move(parts);
    return answer;
}

CausesById causes_by_id(const std::vector<CauseRecord>& causes) {
    CausesById map;
    for (const CauseRecord& cause : causes) map[cause.id] = &cause;
    return map;
}

json::value shifted_cause_json(const reports::CauseShift& shift, const CausesById& causes) {
    const auto found = causes.find(shift.cause);
    return found == causes.end() ? json::value(nullptr)
                                 : json::value(cause_record_json(*found->second));
}

json::array shifts_json(const std::vector<reports::CauseShift>& shifts, const CausesById& causes) {
    json::array list;
    for (const reports::CauseShift& shift : shifts)
        if (auto cause = shifted_cause_json(shift, causes); !cause.is_null())
            list.push_back({{"cause", std::move(cause)},
                            {"before", shift.before},
                            {"after", shift.after},
                            {"p_value", share_or_null(shift.p_value)},
                            {"part", shift.part},
                            {"came_with_change", shift.came}});
    return list;
}

}  // namespace lagtrap::server
