// Simulated runs of an event on 21 hosts, with a regression whose build, hosts, cause and time are
// known, for tests and benchmarks.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "server/reports/change_causes.hpp"
#include "server/reports/change_split.hpp"
#include "server/reports/event_trend.hpp"

namespace lagtrap::test {

struct ChangeSimulation {
    std::uint64_t seed = 1;
    // Since the build "new" runs on some hosts, their delays have a fourth cause, which triples
    // them. Otherwise that build changes nothing.
    bool planted = true;
    double age_days = 1;         // of the build "new"
    double history_days = 20;    // of all runs
    std::string hosts = "fra-";  // that get the build: names that begin with this
    // How much hosts differ in their share of delays, all the time: deviation of its logarithm.
    double host_deviation = 0;
};

// About 340 runs an hour, more by day than by night. 1.8 % of them are delays, by three old causes;
// their number varies more than by chance, and neighbouring hours alike. Each host records two
// delays an hour.
class SimulatedEvent {
  public:
    explicit SimulatedEvent(const ChangeSimulation& simulation);

    [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }
    [[nodiscard]] std::uint64_t changed_ns() const { return changed_ns_; }
    [[nodiscard]] std::set<std::string> changed_hosts() const;
    // The causes have the numbers 1, 2 and 3; the new one has this.
    static constexpr std::uint64_t new_cause = 4;

    // As the store answers.
    [[nodiscard]] server::EventActivity activity(const server::reports::TrendSpan& span) const;
    // By host, before and after a time.
    [[nodiscard]] std::vector<server::reports::ChangedPart> hosts_around(std::uint64_t at_ns) const;
    struct CausesAround {
        server::reports::DelayCounts before, after;
        std::vector<server::reports::CauseCounts> causes;
    };
    [[nodiscard]] CausesAround causes_around(std::uint64_t at_ns) const;

  private:
    // What one host did in a quarter of an hour.
    struct Cell {
        std::uint64_t from_ns = 0;
        std::uint32_t host = 0;
        bool is_new = false;  // its build
        std::uint32_t runs = 0, delays = 0, recorded = 0;
        std::vector<std::uint32_t> recorded_of_cause;  // by number - 1
    };
    class Maker;

    std::uint64_t now_ns_ = 0, changed_ns_ = 0;
    std::string prefix_;
    std::vector<std::string> hosts_;
    std::vector<Cell> cells_;
    std::vector<server::Sketch> durations_;  // by cell
};

// What the server says about a simulated event over the last `days`.
struct ChangeAnswer {
    server::reports::EventTrend trend;
    server::reports::ChangeSplit hosts;
    std::vector<server::reports::CauseShift> causes;
};
[[nodiscard]] ChangeAnswer answer_about(const SimulatedEvent& event, std::uint64_t days);

// What is wrong with the answer, in a few words; empty if nothing is.
[[nodiscard]] std::string mistakes_of(const ChangeAnswer& answer, const SimulatedEvent& event,
                                      bool planted);

}  // namespace lagtrap::test
