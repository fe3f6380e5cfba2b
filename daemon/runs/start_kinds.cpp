#include "daemon/runs/start_kinds.hpp"

#include <algorithm>

namespace lagtrap::daemon {
namespace {

using trace::StartKind;

constexpr std::size_t started_processes_limit = 65'536;
constexpr std::size_t programs_limit = 4'096;

}  // namespace

void StartKinds::watch(const std::vector<std::string>& events, std::uint64_t since_ns) {
    std::map<std::string, Watched> watched;
    for (const std::string& event : events) {
        const auto known = events_.find(event);
        watched[event] =
            known != events_.end() ? std::move(known->second) : Watched{since_ns, {}, {}};
    }
    events_ = std::move(watched);
}

StartKind StartKinds::decide(const std::string& event, const settings::ColdRule& rule,
                             const StartFacts& run) {
    const auto watched = events_.find(event);
    if (watched == events_.end()) return StartKind::Unknown;
    StartKind kind = StartKind::Unknown;
    if (rule.first_of_process) kind = by_process(watched->second, run);
    if (!rule.after) return kind;
    const StartKind timed =
        by_time(watched->second, static_cast<std::uint64_t>(rule.after->count()), run);
    if (kind == StartKind::Cold || timed == StartKind::Cold) return StartKind::Cold;
    // Warm by one rule counts only if the other rule is certain.
    if (rule.first_of_process && kind == StartKind::Unknown) return StartKind::Unknown;
    return timed;
}

StartKind StartKinds::by_process(Watched& watched, const StartFacts& run) {
    auto& processes = watched.processes;
    if (processes.size() >= started_processes_limit) {
        // Drop the half with the oldest last runs: most of these processes are gone.
        std::vector<std::uint64_t> ends;
        ends.reserve(processes.size());
        for (const auto& [process, end_ns] : processes) ends.push_back(end_ns);
        std::nth_element(ends.begin(), ends.begin() + static_cast<std::ptrdiff_t>(ends.size() / 2),
                         ends.end());
        const std::uint64_t middle_ns = ends[ends.size() / 2];
        std::erase_if(processes, [&](const auto& entry) { return entry.second <= middle_ns; });
        watched.since_ns = std::max(watched.since_ns, middle_ns);
    }
    const auto [known, is_first] = processes.try_emplace(run.process, run.end_ns);
    known->second = std::max(known->second, run.end_ns);
    if (!is_first) return StartKind::Warm;
    const bool seen_from_its_start =
        run.process_started_ns != 0 && run.process_started_ns >= watched.since_ns;
    // A run that represents others may have come after them.
    return seen_from_its_start && run.weight == 1 ? StartKind::Cold : StartKind::Unknown;
}

StartKind StartKinds::by_time(Watched& watched, std::uint64_t after_ns, const StartFacts& run) {
    if (watched.programs.size() >= programs_limit) {
        watched.programs.clear();
        watched.since_ns = std::max(watched.since_ns, run.begin_ns);
    }
    const auto [last, is_first] = watched.programs.try_emplace(run.program, run.end_ns);
    const std::uint64_t before_ns = is_first ? watched.since_ns : last->second;
    last->second = std::max(last->second, run.end_ns);
    const bool long_ago = run.begin_ns >= before_ns && run.begin_ns - before_ns >= after_ns;
    if (long_ago) return run.weight == 1 ? StartKind::Cold : StartKind::Unknown;
    return is_first ? StartKind::Unknown : StartKind::Warm;
}

}  // namespace lagtrap::daemon
