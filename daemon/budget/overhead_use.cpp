#include "daemon/budget/overhead_use.hpp"

#include <algorithm>

#include "daemon/budget/difference.hpp"

namespace lagtrap::daemon {
namespace {

// With fewer hits between two checks, the cost does not matter, however high each hit's cost is.
constexpr std::uint64_t few_hits = 1000;

// Cost of a hit that is only counted: one clock reading, the cookie, two maps.
constexpr std::uint64_t counting_ns = 120;

// One party's part of `total_ns`, given its `own` hits among `all` sampled hits.
std::uint64_t share_of_party(std::uint64_t total_ns, std::uint64_t own, std::uint64_t all) {
    return all == 0
               ? 0
               : static_cast<std::uint64_t>(static_cast<double>(total_ns) *
                                            static_cast<double>(own) / static_cast<double>(all));
}

}  // namespace

void OverheadUse::restart(std::size_t events) {
    programs_.assign(events, {});
    usual_ = {};
}

void OverheadUse::share_cost(EventUse& use, const EventMonitor::EventHits& before,
                             const EventMonitor::EventHits& now, const HitParties& parties,
                             std::uint64_t program_ns) const {
    const std::uint64_t passed = std::min(since(now.passed, before.passed), use.hits);
    const std::uint64_t probe_ns = probes_.mean(now.kinds);
    std::uint64_t paired_looked_at = 0, passed_looked_at = 0;
    for (const PartyHits& user : parties.users) {
        paired_looked_at += user.paired;
        passed_looked_at += user.passed;
    }
    use.probe_ns = (use.hits - passed) * (probe_ns + program_ns);
    if (passed_looked_at == 0) use.probe_ns += passed * probe_ns;
    // Kinds are in attach order: end, stages, begin. Markers in several files are averaged.
    const auto kind_ns = [&](const std::vector<ProbeKind>& kinds) {
        return kinds.empty() ? probe_ns : probes_.mean(kinds);
    };
    std::vector<ProbeKind> of_stages, of_begin;
    if (now.kinds.size() >= 2) {
        of_begin = {now.kinds.back()};
        of_stages.assign(now.kinds.begin() + 1, now.kinds.end() - 1);
    }
    const std::uint64_t stage_ns =
        since(now.stage_hits, before.stage_hits) * (kind_ns(of_stages) + program_ns);
    use.stage_ns = std::min(stage_ns, use.probe_ns);
    const bool is_countable = of_begin != std::vector{ProbeKind::Scheduler};
    if (is_countable)
        use.count_ns = since(now.begin_hits, before.begin_hits) * (kind_ns(of_begin) + counting_ns);
    use.seen = now.seen;
    const auto cost_of = [&](const PartyHits& hits) {
        return PartyUse{hits.who,
                        share_of_party(use.probe_ns + use.stack_ns, hits.paired, paired_looked_at),
                        share_of_party(passed * probe_ns, hits.passed, passed_looked_at)};
    };
    for (const PartyHits& user : parties.users) use.users.push_back(cost_of(user));
    for (const PartyHits& process : parties.processes) use.processes.push_back(cost_of(process));
}

WatchUse OverheadUse::between(const OverheadReadings& before, const OverheadReadings& now) {
    WatchUse use;
    use.elapsed_ns = since(now.at_ns, before.at_ns);
    const bool recorded = before.recordings.now || now.recordings.now ||
                          now.recordings.begun != before.recordings.begun;
    use.own_cpu_ns = recorded ? 0 : since(now.own_cpu_ns, before.own_cpu_ns);
    if (now.history_cost_ns > before.history_cost_ns)
        use.history_ns = now.history_cost_ns - before.history_cost_ns;
    if (before.times_cost_ns != 0) use.times_ns = since(now.times_cost_ns, before.times_cost_ns);
    use.events.resize(now.hits.size());
    use.exact = true;
    std::uint64_t hits = 0, programs_ns = 0;
    for (std::size_t event = 0; event < now.hits.size(); ++event) {
        const EventMonitor::EventHits last =
            event < before.hits.size() ? before.hits[event] : EventMonitor::EventHits{};
        EventUse& one = use.events[event];
        one.hits = since(now.hits[event].hits, last.hits);
        one.stack_ns = since(now.hits[event].stack_ns, last.stack_ns);
        one.armed = !now.hits[event].kinds.empty();
        CostCounts costs{};
        for (std::size_t i = 0; i < costs.size(); ++i)
            costs[i] = since(now.hits[event].costs[i], last.costs[i]);
        if (const auto measured = program_cost_ns(costs)) programs_[event] = {*measured, true};
        const auto parties = now.parties.find(static_cast<std::uint32_t>(event));
        share_cost(one, last, now.hits[event],
                   parties == now.parties.end() ? HitParties{} : parties->second,
                   programs_[event].ns);
        use.exact = use.exact && (programs_[event].measured || one.hits < few_hits);
        hits += one.hits;
        programs_ns += one.hits * programs_[event].ns;
    }
    if (hits >= few_hits) usual_ = {programs_ns / hits, use.exact};
    return use;
}

}  // namespace lagtrap::daemon
