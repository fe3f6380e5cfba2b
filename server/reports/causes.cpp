#include "server/reports/causes.hpp"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "server/reports/affected_runs.hpp"
#include "server/reports/cause_candidate.hpp"
#include "server/reports/cause_search.hpp"
#include "server/reports/cause_tree.hpp"
#include "server/reports/cause_weights.hpp"
#include "server/reports/host_tests.hpp"
#include "server/reports/quantiles.hpp"
#include "server/reports/rank_test.hpp"

namespace lagtrap::server::reports {

namespace {

constexpr double affected_share = 0.1;  // minimum part of a run's extra time
// minimum part of delayed runs' mean extra time for a run to have much of it
constexpr double much_share = 0.25;
constexpr double large_part = 0.5;  // minimum part of the extra time of affected runs
// minimum, in multiples of how far nearly all normal runs exceed what is usual
constexpr double large_times = 3;
// minimum growth of a place, relative to the rest of the same runs
constexpr double min_growth = 1.2;
// minimum part of a run's usual time for the rest to be comparable
constexpr double min_rest = 0.05;
// growth of the rest above which delayed runs took longer in everything
constexpr double all_growth = 1.5;
constexpr double min_rest_growth = 0.25;
constexpr double highest_whole_p = 0.01;  // for delayed runs to count as longer than normal ones
constexpr std::size_t min_hosts = 3;
constexpr std::size_t min_affected = 3;  // runs

class CauseJudge {
  public:
    CauseJudge(const CauseTree& tree, const CauseOptions& options)
        : tree_(tree), options_(options), weights_(weigh_runs(tree)) {}

    CauseReport report();

  private:
    [[nodiscard]] std::optional<std::string> too_little_data() const;
    [[nodiscard]] std::optional<std::string> no_extra_time(const SearchResult& search) const;
    [[nodiscard]] bool is_affected(const Excess& excess, std::uint32_t run) const {
        const double extra = excess.of(run);
        return tree_.runs()[run].delayed && run_extra_[run] > 0 &&
               extra > excess.of_normal_runs() && extra >= affected_share * run_extra_[run];
    }
    void measure_rest(std::vector<Candidate>& candidates) const;
    [[nodiscard]] bool rest_grew(const Candidate& candidate) const;
    [[nodiscard]] bool stands_out(const Candidate& candidate) const;
    [[nodiscard]] double p_value_of(const std::vector<double>& values) const {
        return rank_p_value(weights_, values, options_.min_runs);
    }
    [[nodiscard]] double count_p_value_of(const std::vector<double>& values) const;
    void test(std::vector<Candidate>& candidates, std::size_t places) const;
    [[nodiscard]] std::string judge(std::vector<Candidate>& candidates) const;
    void measure_extra();
    void share_out(std::vector<Candidate>& candidates, CauseReport& report) const;
    void count_runs(Candidate& candidate) const;

    const CauseTree& tree_;
    const CauseOptions& options_;
    RunWeights weights_;
    std::vector<double> run_extra_;  // by run: extra time of a delayed run
    double all_extra_ = 0;           // weighted
    std::vector<double> cpu_waits_;  // by run: its own thread's waits for a CPU
};

std::optional<std::string> CauseJudge::too_little_data() const {
    const std::size_t least = options_.min_runs;
    if (weights_.delayed < least) {
        return fmt::format("Delayed runs with a recording: {}; at least {} are needed.",
                           weights_.delayed, least);
    }
    if (weights_.normal < least) {
        return fmt::format(
            "Normal runs in the recordings to compare with: {}; at least {} are needed. A longer "
            "trace-length records more of them.",
            weights_.normal, least);
    }
    return std::nullopt;
}

std::optional<std::string> CauseJudge::no_extra_time(const SearchResult& search) const {
    std::vector<double> durations;
    for (const TreeRun& run : tree_.runs())
        durations.push_back(static_cast<double>(run.recorded_ns));
    if (search.total_excess > 0 && p_value_of(durations) <= highest_whole_p) return std::nullopt;
    const auto cut = std::count_if(tree_.runs().begin(), tree_.runs().end(),
                                   [](const TreeRun& run) { return run.delayed && run.cut; });
    if (cut == 0)
        return "The delayed runs did not take longer than the normal runs of the same hosts.";
    return fmt::format(
        "What was recorded of the delayed runs is not longer than the normal runs of the same "
        "hosts: {} of {} were recorded in part.",
        cut, weights_.delayed);
}

// Measures the rest of each run, without waits for a CPU and without the extra time of other single
// places, because a run may have two causes.
void CauseJudge::measure_rest(std::vector<Candidate>& candidates) const {
    std::vector<Excess> excesses;
    for (const Candidate& candidate : candidates)
        excesses.emplace_back(tree_, weights_, candidate.values);
    for (std::size_t c = 0; c < candidates.size(); ++c) {
        std::vector<double> rest;
        double own_usual_ns = 0;
        double rest_usual_ns = 0;
        for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
            rest.push_back(static_cast<double>(tree_.runs()[i].recorded_ns) - cpu_waits_[i] -
                           candidates[c].below[i]);
            if (tree_.runs()[i].delayed) continue;
            own_usual_ns += candidates[c].values[i];
            rest_usual_ns += rest.back();
        }
        if (rest_usual_ns < min_rest * (rest_usual_ns + own_usual_ns)) continue;
        const Excess whole(tree_, weights_, rest);
        candidates[c].rest_growth.assign(rest.size(), 1);
        for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
            for (std::size_t other = 0; other < candidates.size(); ++other) {
                if (other == c || !candidates[other].one_place) continue;
                const double extra = excesses[other].of(i);
                if (extra > excesses[other].of_normal_runs()) rest[i] -= extra;
            }
            const double usual = whole.value(i) - whole.of(i);
            if (usual > 0)
                candidates[c].rest_growth[i] = std::max(rest[i] / usual, min_rest_growth);
        }
    }
}

bool CauseJudge::rest_grew(const Candidate& candidate) const {
    if (candidate.rest_growth.empty()) return false;
    std::vector<double> delayed;
    std::vector<double> normal;
    for (std::size_t i = 0; i < candidate.rest_growth.size(); ++i) {
        (tree_.runs()[i].delayed ? delayed : normal).push_back(candidate.rest_growth[i]);
    }
    std::ranges::sort(delayed);
    std::ranges::sort(normal);
    // Checks the lowest tenth, because the rest may contain another cause in most runs.
    return quantile(delayed, 0.1) > all_growth * quantile(normal, 0.1);
}

// Whether it grew more than the rest of the runs that it affects.
bool CauseJudge::stands_out(const Candidate& candidate) const {
    if (candidate.rest_growth.empty()) return candidate.one_place;
    const Excess own(tree_, weights_, candidate.values);
    double own_ns = 0;
    double usual_ns = 0;
    std::vector<double> rest_growth;
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        if (!is_affected(own, i)) continue;
        own_ns += weights_.of_run[i] * own.value(i);
        usual_ns += weights_.of_run[i] * (own.value(i) - own.of(i));
        rest_growth.push_back(candidate.rest_growth[i]);
    }
    return !rest_growth.empty() &&
           own_ns >= min_growth * usual_ns * std::max(median(std::move(rest_growth)), 1.0);
}

// By the number of runs that have much more of it than is usual on their host.
double CauseJudge::count_p_value_of(const std::vector<double>& values) const {
    const Excess excess(tree_, weights_, values);
    const double much =
        std::max(much_share * all_extra_ / weights_.delayed_sum, excess.of_normal_runs());
    return count_p_value(weights_, excess, much, options_.min_runs);
}

void CauseJudge::count_runs(Candidate& candidate) const {
    Cause& cause = candidate.cause;
    const Excess excess(tree_, weights_, candidate.values);
    std::vector<std::uint32_t> affected;
    std::set<std::uint32_t> hosts;
    std::set<std::uint32_t> users;
    double sum = 0;
    double usual = 0;
    double weighted = 0;
    double all = 0;
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        if (!is_affected(excess, i)) continue;
        affected.push_back(i);
        hosts.insert(tree_.runs()[i].host);
        users.insert(tree_.runs()[i].user);
        sum += excess.of(i);
        usual += excess.value(i) - excess.of(i);
        weighted += weights_.of_run[i] * std::min(excess.of(i), run_extra_[i]);
        all += weights_.of_run[i] * run_extra_[i];
    }
    if (affected.empty()) return;
    // Even among similar runs, the slowest take a little longer in most places.
    const double mean = sum / static_cast<double>(affected.size());
    if (weighted < large_part * all && mean < large_times * excess.of_normal_runs()) return;
    users.erase(0);
    cause.excess_ns = static_cast<std::uint64_t>(mean);
    cause.normal_ns = static_cast<std::uint64_t>(usual / static_cast<double>(affected.size()));
    cause.affected_runs = affected.size();
    cause.hosts = hosts.size();
    cause.users = users.size();
    cause.single_host = hosts.size() < min_hosts;
    candidate.rank = weighted;
    cause.builds = builds_with_cause(tree_, excess, affected);
    std::vector<std::uint32_t> shown;
    for (const std::uint32_t run : affected) {
        if (tree_.runs()[run].bundle != 0) shown.push_back(run);
    }
    if (shown.empty()) return;
    cause.delays = newest_delays(tree_, excess, candidate, shown);
    const auto middle = shown.begin() + static_cast<std::ptrdiff_t>(shown.size() / 2);
    std::nth_element(shown.begin(), middle, shown.end(), [&](std::uint32_t a, std::uint32_t b) {
        return std::pair(excess.of(a), a) < std::pair(excess.of(b), b);
    });
    cause.example =
        CauseExample{tree_.texts()[tree_.runs()[*middle].bundle], tree_.runs()[*middle].delay};
}

void CauseJudge::test(std::vector<Candidate>& candidates, std::size_t places) const {
    std::vector<double> p_values;
    for (const Candidate& candidate : candidates) {
        // If delayed runs took longer in everything, only the excess over that is tested.
        std::vector<double> values = candidate.values;
        if (rest_grew(candidate)) {
            for (std::size_t i = 0; i < values.size(); ++i) values[i] /= candidate.rest_growth[i];
        }
        // The smaller of the two tests' p-values, doubled (Bonferroni).
        p_values.push_back(
            std::min(1.0, 2 * std::min(p_value_of(values), count_p_value_of(values))));
        if (!candidate.by_share) continue;
        std::vector<double> shares = candidate.values;
        for (std::size_t i = 0; i < shares.size(); ++i)
            shares[i] /= static_cast<double>(tree_.runs()[i].recorded_ns);
        p_values.back() = std::max(p_values.back(), p_value_of(shares));
    }
    const std::vector<double> q = q_values(p_values, places);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        candidates[i].p_value = p_values[i];
        candidates[i].q_value = q[i];
    }
}

// Ranks candidates that pass the tests. Returns the title of one that grew only as all else did.
std::string CauseJudge::judge(std::vector<Candidate>& candidates) const {
    std::string as_before;
    for (Candidate& candidate : candidates) {
        if (candidate.q_value > options_.highest_q) continue;
        if (!stands_out(candidate)) {
            if (as_before.empty()) as_before = candidate.cause.title;
            continue;
        }
        count_runs(candidate);
        candidate.cause.p_value = candidate.p_value;
        candidate.cause.q_value = candidate.q_value;
    }
    return as_before;
}

// Splits each run's extra time among its causes.
void CauseJudge::share_out(std::vector<Candidate>& candidates, CauseReport& report) const {
    std::vector<Excess> excesses;
    for (const Candidate& candidate : candidates)
        excesses.emplace_back(tree_, weights_, candidate.values);
    if (all_extra_ <= 0) return;
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        double sum = 0;
        for (const Excess& excess : excesses) sum += is_affected(excess, i) ? excess.of(i) : 0;
        if (sum <= 0) continue;
        // If other parts were shorter than usual, the causes exceed the run's extra time.
        const double part = std::min(1.0, run_extra_[i] / sum) * weights_.of_run[i] / all_extra_;
        for (std::size_t c = 0; c < candidates.size(); ++c) {
            if (is_affected(excesses[c], i)) candidates[c].cause.share += excesses[c].of(i) * part;
        }
    }
    for (const Candidate& candidate : candidates) report.unexplained_share -= candidate.cause.share;
    report.unexplained_share = std::max(report.unexplained_share, 0.0);
}

void CauseJudge::measure_extra() {
    cpu_waits_.assign(tree_.runs().size(), 0);
    for (std::size_t i = 0; i < tree_.runs().size(); ++i) {
        const TreeRun& run = tree_.runs()[i];
        for (std::size_t at = run.entries_begin; at < run.entries_end; ++at) {
            const TreeNode& node = tree_.nodes()[tree_.entries()[at].node];
            if (node.parent == 0 && tree_.names()[node.name].kind == NameKind::Runnable)
                cpu_waits_[i] += static_cast<double>(tree_.entries()[at].time_ns);
        }
    }
    std::vector<double> durations;
    for (const TreeRun& run : tree_.runs())
        durations.push_back(static_cast<double>(run.recorded_ns));
    const Excess whole(tree_, weights_, std::move(durations));
    run_extra_.assign(tree_.runs().size(), 0);
    for (std::uint32_t i = 0; i < tree_.runs().size(); ++i) {
        if (!tree_.runs()[i].delayed) continue;
        run_extra_[i] = std::max(whole.of(i), 0.0);
        all_extra_ += weights_.of_run[i] * run_extra_[i];
    }
}

CauseReport CauseJudge::report() {
    CauseReport report;
    report.delayed_runs = weights_.delayed;
    report.normal_runs = weights_.normal;
    report.runs_left_out = tree_.runs_left_out();
    report.paths_cut = tree_.paths_cut();
    std::set<std::uint32_t> bundles;
    for (const TreeRun& run : tree_.runs()) bundles.insert(run.bundle);
    bundles.erase(0);
    report.bundles = bundles.size();
    report.silent_because = too_little_data();
    if (report.silent_because) return report;
    const SearchResult search = search_causes(tree_, weights_);
    report.silent_because = no_extra_time(search);
    if (report.silent_because) return report;
    measure_extra();
    std::vector<Candidate> candidates = gather_candidates(tree_, weights_, search);
    measure_rest(candidates);
    test(candidates, search.places);
    const std::string as_before = judge(candidates);
    std::erase_if(candidates, [&](const Candidate& candidate) {
        return candidate.rank <= 0 ||
               candidate.cause.affected_runs < std::min(min_affected, options_.min_runs);
    });
    const std::size_t nameless = std::erase_if(
        candidates, [](const Candidate& candidate) { return candidate.cause.title.empty(); });
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rank > b.rank; });
    if (candidates.size() > options_.max_causes) candidates.resize(options_.max_causes);
    share_out(candidates, report);
    for (Candidate& candidate : candidates) report.causes.push_back(std::move(candidate.cause));
    if (!report.causes.empty()) return report;
    if (nameless > 0) {
        report.silent_because =
            "Delayed runs were blocked longer than normal ones, but neither the reason nor the "
            "place is known.";
        return report;
    }
    report.silent_because =
        as_before.empty()
            ? "No function takes significantly more time in delayed runs than in normal ones."
            : "Nothing stands out: delayed runs spend their time where normal ones do, only more "
              "of it (" +
                  as_before + ").";
    return report;
}

}  // namespace

class CauseFinder::State {
  public:
    explicit State(const CauseOptions& chosen)
        : options(chosen), tree(chosen.max_nodes, chosen.max_entries) {}
    CauseOptions options;
    CauseTree tree;
};

CauseFinder::CauseFinder(const CauseOptions& options) : state_(std::make_unique<State>(options)) {}
CauseFinder::CauseFinder(CauseFinder&&) noexcept = default;
CauseFinder& CauseFinder::operator=(CauseFinder&&) noexcept = default;
CauseFinder::~CauseFinder() = default;

void CauseFinder::add(const ProfiledRun& run, const analysis::RunProfile& profile) {
    state_->tree.add(run, profile);
}

CauseReport CauseFinder::find() const { return CauseJudge(state_->tree, state_->options).report(); }

}  // namespace lagtrap::server::reports
