#include "server/reports/affected_runs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace lagtrap::server::reports {
namespace {

constexpr std::size_t max_builds = 100;
constexpr std::size_t max_delays = 1000;

}  // namespace

std::vector<CauseBuild> builds_with_cause(const CauseTree& tree, const Excess& excess,
                                          const std::vector<std::uint32_t>& affected) {
    struct Build {
        CauseBuild shown;
        std::uint64_t first_ns = UINT64_MAX;
        double excess = 0;
    };
    std::map<std::uint32_t, Build> builds;
    for (const TreeRun& run : tree.runs()) {
        Build& build = builds[run.build];
        ++build.shown.runs;
        if (run.delayed) ++build.shown.delayed;
        build.first_ns = std::min(build.first_ns, run.begin_realtime_ns);
    }
    for (const std::uint32_t run : affected) {
        Build& build = builds[tree.runs()[run].build];
        ++build.shown.affected;
        build.excess += excess.of(run);
    }
    std::vector<Build> ordered;
    for (auto& [number, build] : builds) {
        build.shown.build = tree.texts()[number];
        if (build.shown.affected > 0) {
            build.shown.excess_ns = static_cast<std::uint64_t>(
                build.excess / static_cast<double>(build.shown.affected));
        }
        ordered.push_back(std::move(build));
    }
    std::stable_sort(ordered.begin(), ordered.end(),
                     [](const Build& a, const Build& b) { return a.first_ns < b.first_ns; });
    const std::size_t first = ordered.size() > max_builds ? ordered.size() - max_builds : 0;
    std::vector<CauseBuild> newest;
    for (std::size_t i = first; i < ordered.size(); ++i)
        newest.push_back(std::move(ordered[i].shown));
    return newest;
}

std::vector<CauseDelay> newest_delays(const CauseTree& tree, const Excess& excess,
                                      const Candidate& candidate, std::vector<std::uint32_t> runs) {
    std::vector<CauseDelay> delays;
    std::ranges::sort(runs, std::greater(),
                      [&](std::uint32_t run) { return tree.runs()[run].begin_realtime_ns; });
    for (const std::uint32_t number : std::span(runs).first(std::min(runs.size(), max_delays))) {
        const TreeRun& run = tree.runs()[number];
        delays.push_back(
            {tree.texts()[run.bundle], run.delay, tree.texts()[run.host], tree.texts()[run.build],
             run.begin_realtime_ns, static_cast<std::uint64_t>(std::max(excess.of(number), 0.0)),
             candidate.cause.holder.empty() ? std::string()
                                            : tree.texts()[candidate.awaited[number]]});
    }
    return delays;
}

}  // namespace lagtrap::server::reports
