#include "server/ingest/dirty_rule.hpp"

#include <map>
#include <vector>

#include "server/reports/dirty.hpp"

namespace lagtrap::server {
namespace {

constexpr std::uint32_t runs_looked_at = 20'000;
constexpr std::size_t ids_at_once = 10'000;  // limit of RunStore::find_runs
// Below this distance a mark is removed; between this and the rule's limit it stays.
constexpr double put_back_limit = 3.0;
constexpr const char* marker = "rule on durations";

// The rule by which each hidden run is hidden.
Result<std::map<std::uint64_t, std::string>> rules_of_hidden(const RunStore& store,
                                                             const std::vector<RunDuration>& runs) {
    std::map<std::uint64_t, std::string> rules;
    std::vector<std::uint64_t> ids;
    for (const RunDuration& run : runs)
        if (run.dirty && ids.size() < ids_at_once) ids.push_back(run.id);
    if (ids.empty()) return rules;
    TRY_ASSIGN(const auto found, store.find_runs(ids));
    for (const StoredRun& run : found)
        if (run.dirty) rules.emplace(run.id, run.dirty->rule);
    return rules;
}

std::vector<reports::DirtyVerdict> judge(const std::string& event,
                                         const std::vector<const RunDuration*>& runs,
                                         double limit) {
    std::vector<reports::DirtyCandidate> candidates;
    candidates.reserve(runs.size());
    for (const RunDuration* run : runs)
        candidates.push_back({event, run->build, run->start, run->duration_ns, 0});
    reports::DirtyOptions options;
    options.limit = limit;
    return reports::find_dirty_runs(candidates, options);
}

void judge_group(const std::string& event, const std::vector<const RunDuration*>& runs,
                 std::uint64_t now_ns, std::vector<DirtyMark>& marks) {
    const auto strict = judge(event, runs, reports::DirtyOptions{}.limit);
    const auto mild = judge(event, runs, put_back_limit);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunDuration& run = *runs[i];
        // Hidden by an older version of this rule, which hid runs instead of marking them.
        if (run.dirty ? mild[i].dirty() : strict[i].dirty() && !run.outlier)
            marks.push_back({run.id, true, rule_duration,
                             strict[i].dirty() ? strict[i].reason : mild[i].reason, marker,
                             now_ns});
        if (!mild[i].dirty() && (run.dirty || run.outlier))
            marks.push_back({run.id, false, rule_duration,
                             "it does not differ from the others any more", marker, now_ns});
    }
}

}  // namespace

Result<std::uint64_t> mark_dirty_runs(const Evidence& evidence, const std::string& event,
                                      std::uint64_t now_realtime_ns) {
    Filter filter;
    filter.event = event;
    TRY_ASSIGN(const auto runs, evidence.runs().run_durations(filter, runs_looked_at));
    TRY_ASSIGN(const auto rules, rules_of_hidden(evidence.runs(), runs));
    // Delays differ from normal runs by nature, and must not be marked for it, so they are compared
    // only with each other.
    std::vector<const RunDuration*> groups[2];
    for (const RunDuration& run : runs) {
        if (run.by_hand) continue;
        const auto rule = rules.find(run.id);
        // Hidden for something the machine reported, or for a reason that was not read (too many):
        // not part of the statistics.
        if (run.dirty && (rule == rules.end() || rule->second != rule_duration)) continue;
        groups[run.delay ? 1 : 0].push_back(&run);
    }
    std::vector<DirtyMark> marks;
    for (const auto& group : groups) judge_group(event, group, now_realtime_ns, marks);
    if (marks.empty()) return std::uint64_t{0};
    return evidence.marks().mark_dirty(marks);
}

}  // namespace lagtrap::server
