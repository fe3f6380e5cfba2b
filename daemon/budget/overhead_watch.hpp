// Looks at what watching costs and gives up what the budget says: takes stacks and events out of the listener, and puts
// them back after a pause. Runs on the io_context it is given, on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/budget/overhead_budget.hpp"
#include "daemon/budget/own_use.hpp"
#include "daemon/events/listener.hpp"
#include "daemon/probes/overhead_probes.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

struct OverheadStatus {
    std::uint64_t used_ppm = 0;  // of one CPU, at the last look
    std::uint64_t share_ppm = 0;
    std::uint64_t recording_share_ppm = 0;
    std::uint64_t looks = 0;
    bool exhausted = false;        // over the share, with nothing left to give up
    std::uint64_t times_shed = 0;  // events and stacks, since the settings came into force
    std::uint64_t program_ns = 0;  // one run of a marker program
    bool program_measured = false;
    ProbeCosts probes;
};

class OverheadWatch {
  public:
    using Say = std::function<void(const std::string&)>;
    struct Options {
        Say inform;
        Say warn;
        // Recordings: how many have begun so far, and whether one is being made now.
        struct Recordings {
            std::uint64_t begun = 0;
            bool now = false;
        };
        std::function<Recordings()> recordings;
        std::function<std::uint64_t()> history_cost_ns;  // since it is kept; it may begin anew
        std::function<void(bool)> keep_history;
    };

    // Measures the cost of a probe (measure_probe_costs()).
    OverheadWatch(boost::asio::io_context& context, Options options);

    // Begins to look, everything armed. `listener` must stay until the next use() or stop().
    void use(const settings::Budget& budget, Listener& listener);
    void stop();

    [[nodiscard]] OverheadStatus status() const;
    // When a shed event, or its stacks, are tried again, from now; 0: nothing of it is shed.
    [[nodiscard]] std::chrono::nanoseconds again_in(std::uint32_t event) const;
    [[nodiscard]] std::chrono::nanoseconds stages_again_in(std::uint32_t event) const;
    // Of CLOCK_MONOTONIC; 0: stages are not given up.
    [[nodiscard]] std::uint64_t stages_since_ns(std::uint32_t event) const { return budget_.stages_since_ns(event); }
    [[nodiscard]] bool counts_all(std::uint32_t event) const { return budget_.counts_all(event); }
    // Whose hits of the event do nothing but count, and why.
    [[nodiscard]] std::vector<OverheadBudget::Limit> limits(std::uint32_t event) const { return budget_.limits(event); }
    [[nodiscard]] std::uint64_t watched_ppm(std::uint32_t event) const { return budget_.watched_ppm(event); }
    [[nodiscard]] OverheadBudget::ShedAt shed_at(std::uint32_t event) const { return budget_.shed_at(event); }
    // When the history is kept, and the times of runs are counted again, from now; 0: they are.
    [[nodiscard]] std::chrono::nanoseconds history_again_in() const;
    [[nodiscard]] std::chrono::nanoseconds times_again_in() const;
    // What is given up now, a sentence each.
    [[nodiscard]] std::vector<std::string> shed_now() const;

  private:
    // What had been counted at a look.
    struct Counted {
        std::uint64_t at_ns = 0, own_cpu_ns = 0;
        Options::Recordings recordings;
        std::uint64_t history_cost_ns = 0, times_cost_ns = 0;
        std::vector<Listener::EventHits> hits;
        std::map<std::uint32_t, HitParties> parties;  // since the look before
    };

    void await_look();
    void look();
    [[nodiscard]] Counted count();
    [[nodiscard]] WatchUse use_between(const Counted& before, const Counted& now);
    // What each party's hits between two looks cost, as far as can be told from a part of them.
    void share_cost(EventUse& use, const Listener::EventHits& before, const Listener::EventHits& now,
                    const HitParties& parties, std::uint64_t program_ns) const;
    void take(const BudgetStep& step);
    void take_limit(const BudgetStep& step);
    void take_stages(const BudgetStep& step);
    // What is of all events, given up or taken again.
    void take_whole(const BudgetStep& step);

    boost::asio::steady_timer timer_;
    Options options_;
    ProbeCosts probes_;
    // One run of a program at a marker, of each event; until it was measured a guess.
    struct ProgramCost {
        std::uint64_t ns = 250;
        bool measured = false;
    };
    std::vector<ProgramCost> programs_;
    ProgramCost usual_;  // of the last look's events, by their hits
    OverheadBudget budget_;
    Listener* listener_ = nullptr;
    Counted before_;
};

}  // namespace lagtrap::daemon
