#include "daemon/events/pairing.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

using Kind = PairingFinding::Kind;

// Fewer are not enough: a program that was running when the event was armed has an end or two
// without a begin.
constexpr std::uint64_t enough = 8;

// Runs over their threshold whose end was missed or seems not to come.
std::uint64_t endless(const EventCounters& counters, const OpenRuns::Counts& runs) {
    return counters.unended_late + counters.expired + runs.expired + runs.stale;
}

bool is_more_than_a_hundredth(std::uint64_t part, std::uint64_t whole) {
    return part >= enough && part > whole / 100;
}

}  // namespace

bool believes_deadlines(const EventCounters& counters, const OpenRuns::Counts& runs) {
    if (counters.ends().hits == 0 && counters.begins().hits >= enough) return false;
    const std::uint64_t without_end = endless(counters, runs);
    return without_end < 2 || without_end * 4 <= counters.delays;
}

std::vector<PairingFinding> pairing_findings(const EventCounters& counters,
                                             const OpenRuns::Counts& runs) {
    std::vector<PairingFinding> findings;
    const auto add = [&](Kind kind, std::string sentence) {
        findings.push_back({kind, std::move(sentence)});
    };
    const std::uint64_t begins = counters.begins().hits, ends = counters.ends().hits,
                        hits = counters.hits();
    const std::uint64_t unended = counters.begins().unmatched;
    const std::uint64_t lost = counters.lost + counters.expired + runs.expired;
    const std::uint64_t unbegun =
        counters.ends().unmatched - std::min<std::uint64_t>(counters.ends().unmatched, lost);
    if (hits >= enough && counters.out_of_scope + enough > hits && counters.runs() == 0 &&
        runs.open == 0)
        add(Kind::OutOfScope,
            fmt::format("{} hits of its markers, all by processes outside its scope", hits));
    else if (begins >= enough && ends == 0)
        add(Kind::NoEnd, fmt::format("{} begins but no end: the end marker is not hit", begins));
    else if (ends >= enough && begins == 0)
        add(Kind::NoBegin, fmt::format("{} ends but no begin: the begin marker is not hit", ends));
    if (is_more_than_a_hundredth(unended, begins))
        add(Kind::BeginsUnended,
            fmt::format(
                "begins and ends do not pair: {} of {} begins were followed by another begin",
                unended, begins));
    if (begins > 0 && is_more_than_a_hundredth(unbegun, ends))
        add(Kind::EndsUnbegun,
            fmt::format("begins and ends do not pair: {} of {} ends had no begin", unbegun, ends));
    if (!believes_deadlines(counters, runs)) {
        std::string sentence = "delays are noticed when runs end, not while they are open";
        if (ends > 0)
            sentence += fmt::format(
                ": beyond the threshold, {} runs ended, and the ends of {} were not seen",
                counters.delays, endless(counters, runs));
        add(Kind::NotBelieved, std::move(sentence));
    }
    if (lost > 0 && runs.open > runs.fit / 8)
        add(Kind::Crowded, fmt::format("{} of its runs are open, and {} fit for all events: {} of "
                                       "its runs were lost; raise <budget open-runs>",
                                       runs.open, runs.fit, lost));
    return findings;
}

std::optional<PairingFinding> marker_finding(const EventPlan& plan) {
    const auto marker =
        std::find_if(plan.markers.begin(), plan.markers.end(),
                     [](const MarkerPlan& one) { return one.places.semaphore_writable_twice; });
    if (marker == plan.markers.end()) return std::nullopt;
    return PairingFinding{
        Kind::SemaphoreUnseen,
        fmt::format("programs that start from now on never hit {}:{}: two segments of {} map the "
                    "page of its semaphore, and the kernel increments it in the other one",
                    marker->marker.provider, marker->marker.name, marker->marker.binary)};
}

}  // namespace lagtrap::daemon
