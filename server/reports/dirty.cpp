#include "server/reports/dirty.hpp"

#include <cmath>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "core/duration.hpp"
#include "server/reports/quantiles.hpp"

namespace lagtrap::server::reports {

namespace {

DirtyVerdict verdict_by_reasons(std::uint32_t reasons) {
    if ((reasons & trace::DirtySuspended) != 0) {
        return {"suspended", "The machine was suspended while the run was open."};
    }
    if ((reasons & trace::DirtyClockStepped) != 0) {
        return {"clock-stepped", "The machine's clock was set while the run was open."};
    }
    if ((reasons & trace::DirtyAborted) != 0)
        return {"aborted", "The thread ended before the run did."};
    if ((reasons & trace::DirtyFailed) != 0) return {"failed", "The operation failed."};
    if ((reasons & trace::DirtyCancelled) != 0)
        return {"cancelled", "The operation was cancelled."};
    if ((reasons & trace::DirtyMissingStage) != 0) {
        return {"missing-stage", "A stage that the settings name never came."};
    }
    return {};
}

double log_of(std::uint64_t duration_ns) {
    return std::log(static_cast<double>(std::max<std::uint64_t>(duration_ns, 1)));
}

// Typical value and scale of a group; with a scale of 0, nothing differs.
struct Usual {
    double center = 0;
    double scale = 0;
};

Usual usual_of(std::vector<double> logs) {
    std::sort(logs.begin(), logs.end());
    Usual usual;
    usual.center = quantile(logs, 0.5);
    std::vector<double> distances;
    distances.reserve(logs.size());
    for (const double value : logs) distances.push_back(std::abs(value - usual.center));
    // 0.6745 and 1.349 make both the standard deviation for normally distributed values.
    usual.scale = median(std::move(distances)) / 0.6745;
    if (usual.scale == 0) usual.scale = (quantile(logs, 0.75) - quantile(logs, 0.25)) / 1.349;
    return usual;
}

DirtyVerdict verdict_by_duration(std::uint64_t duration_ns, const Usual& usual, std::size_t runs,
                                 double limit) {
    if (usual.scale == 0) return {};
    const double distance = (log_of(duration_ns) - usual.center) / usual.scale;
    if (!(std::abs(distance) > limit)) return {};
    const double times = std::exp(std::abs(log_of(duration_ns) - usual.center));
    const std::string median_text =
        format_duration(std::chrono::nanoseconds(std::llround(std::exp(usual.center))));
    return {"duration", fmt::format("It took {:.1f} times as {} as the median {} of {} runs of the "
                                    "same event, start and build (distance {:.1f}, limit {:.1f}).",
                                    times, distance > 0 ? "long" : "short", median_text, runs,
                                    std::abs(distance), limit)};
}

}  // namespace

std::vector<DirtyVerdict> find_dirty_runs(std::span<const DirtyCandidate> runs,
                                          const DirtyOptions& options) {
    std::vector<DirtyVerdict> verdicts(runs.size());
    std::map<std::tuple<std::string_view, std::string_view, trace::StartKind>,
             std::vector<std::size_t>>
        groups;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        verdicts[i] = verdict_by_reasons(runs[i].reasons);
        if (!verdicts[i].dirty())
            groups[{runs[i].event, runs[i].build, runs[i].start}].push_back(i);
    }
    for (const auto& [key, members] : groups) {
        if (members.size() < options.min_runs || members.empty()) continue;
        std::vector<double> logs;
        logs.reserve(members.size());
        for (const std::size_t i : members) logs.push_back(log_of(runs[i].duration_ns));
        const Usual usual = usual_of(std::move(logs));
        for (const std::size_t i : members) {
            verdicts[i] =
                verdict_by_duration(runs[i].duration_ns, usual, members.size(), options.limit);
        }
    }
    return verdicts;
}

}  // namespace lagtrap::server::reports
