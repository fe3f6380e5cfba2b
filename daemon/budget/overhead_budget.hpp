// Decides what to disable when watching costs more than the settings allow, and when to try it
// again. Uses neither the kernel nor a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/events/hit_party.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Cost of one party's hits of an event between two checks.
struct PartyUse {
    HitParty who;
    std::uint64_t paired_ns = 0;
    std::uint64_t passed_ns = 0;  // cost of kernel probes for hits that are out of scope or limited
};

// Cost of watching one event between two checks.
struct EventUse {
    std::uint64_t hits = 0;
    std::uint64_t probe_ns = 0;  // kernel and program time of paired hits, without stacks
    std::uint64_t stack_ns = 0;  // recording stacks at its markers
    // has been armed, even if the budget has disabled it since; others are ignored
    bool armed = false;
    std::vector<PartyUse> users{}, processes{};
    SeenParties seen{};
    std::uint64_t stage_ns = 0;  // part of probe_ns: markers of its stages
    std::uint64_t count_ns = 0;  // cost if begins were only counted; 0 if they cannot be counted
};

struct WatchUse {
    std::uint64_t elapsed_ns = 0;
    std::uint64_t own_cpu_ns = 0;  // CPU time of the daemon, except recordings
    bool exact = false;            // the run time of the BPF programs was measured, not assumed
    std::vector<EventUse> events{};
    std::uint64_t history_ns = 0;  // cost of the history before a breach
    std::uint64_t times_ns = 0;    // cost of the time breakdown of runs
};

struct BudgetStep {
    enum class Action {
        DropHistory,
        KeepHistory,
        DropTimes,
        CountTimes,
        DropStacks,
        TakeStacks,
        DropStages,
        WatchStages,
        Limit,
        Release,
        Detach,
        WatchPart,  // detach until the next Attach: the event is watched part of the time
        StopCount,  // stop counting an event that Detach or WatchPart left counted
        Attach,
        WatchWhole  // the event is watched all the time again
    };
    Action action = Action::Detach;
    std::uint32_t event = 0;  // unused for the history and times, which concern all events
    std::string reason;       // for people; only for steps that disable something
    HitParty party{};         // for Limit and Release
    bool news = true;         // false for a WatchPart or Attach that only repeats an earlier one
    bool counted = false;     // for Detach and WatchPart: begins are still counted
};

class CostWords;

class OverheadBudget {
  public:
    OverheadBudget() = default;
    OverheadBudget(settings::Budget budget, std::size_t events)
        : budget_(std::move(budget)), events_(events) {}

    // Returns the steps to take now, in this order. Call it once per budget.interval. If the cost
    // is not exact and less than twice the share, it acts only at the second check in a row that is
    // over.
    [[nodiscard]] std::vector<BudgetStep> look(const WatchUse& use, std::uint64_t now_ns);

    // At the last check, in millionths of one CPU.
    [[nodiscard]] std::uint64_t used_ppm() const { return used_ppm_; }
    // True if the last check exceeded the share and nothing was left to disable.
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    // How often something was disabled since the start.
    [[nodiscard]] std::uint64_t disabled_count() const { return disabled_count_; }
    // When disabled parts of an event are enabled again; 0 if nothing is disabled.
    [[nodiscard]] std::uint64_t again_ns(std::uint32_t event) const;
    [[nodiscard]] std::uint64_t stages_again_ns(std::uint32_t event) const;
    // When the stages were disabled; 0 if they are enabled.
    [[nodiscard]] std::uint64_t stages_since_ns(std::uint32_t event) const;
    // True if no begins are missed: the event is watched all the time, or its begins are counted
    // while it is not watched.
    [[nodiscard]] bool counts_all(std::uint32_t event) const;
    // How much of the time an event is watched, in millionths. A million if the event is watched
    // all the time or not at all.
    [[nodiscard]] std::uint64_t watched_ppm(std::uint32_t event) const;
    [[nodiscard]] std::uint64_t looks() const { return looks_; }
    // When the history and the time breakdown are enabled again; 0 if they are enabled.
    [[nodiscard]] std::uint64_t history_again_ns() const {
        return history_.up ? history_.again_ns : 0;
    }
    [[nodiscard]] std::uint64_t times_again_ns() const { return times_.up ? times_.again_ns : 0; }
    // The check that disabled the event, and the first of the consecutive checks that exceeded the
    // share.
    struct DisabledAt {
        std::uint64_t look = 0, over_since = 0;
    };
    [[nodiscard]] DisabledAt disabled_at(std::uint32_t event) const;
    // A party whose hits of the event are only counted.
    struct Limit {
        HitParty who;
        std::string reason;
        std::uint64_t again_ns = 0;
    };
    [[nodiscard]] std::vector<Limit> limits(std::uint32_t event) const;
    [[nodiscard]] const settings::Budget& budget() const { return budget_; }

  private:
    // What is disabled, and how often it was disabled before.
    struct Given {
        bool up = false;
        std::uint32_t times = 0;
        DisabledAt at;
        std::uint64_t since_ns = 0, again_ns = 0;
    };
    struct LimitedParty {
        Given given;
        std::string reason;
    };
    struct EventState {
        Given stacks, stages, probes;
        bool counted = false;     // its begins are still counted while it is disabled
        bool counts_all = false;  // they were counted when it was last disabled
        std::map<HitParty, LimitedParty> parties;
        // checks skipped for each check that watches it; 0 if it is watched all the time
        std::uint64_t looks_off = 0;
    };
    struct Cost {
        std::uint32_t event = 0;
        std::uint64_t cost_ns = 0;
    };

    void give_up(Given& given, std::uint64_t now_ns);
    // Disables something that serves all events and costs `part_ns`.
    void disable_whole(Given& given, BudgetStep::Action action, std::uint64_t part_ns,
                       std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                       std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    void forgive(Given& given, std::uint64_t now_ns) const;
    void try_again(std::vector<BudgetStep>& steps, std::uint64_t now_ns);
    [[nodiscard]] std::uint64_t pause_ns(const Given& given) const;
    [[nodiscard]] std::vector<Cost> costliest(const WatchUse& use, settings::BudgetPart kind) const;
    void disable_until(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                       settings::BudgetPart kind, std::uint64_t now_ns,
                       std::vector<BudgetStep>& steps);
    void disable_stages(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                        std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    void stop_counts(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                     std::vector<BudgetStep>& steps);
    // Cost of watching the event, without the parts that are disabled.
    [[nodiscard]] std::uint64_t whole_cost_of(const WatchUse& use, std::uint32_t event) const;
    void detach(const WatchUse& use, const Cost& cost, std::uint64_t& all_ns,
                std::uint64_t available_ns, std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    // The party of an event to limit: the most expensive user, or that user's most expensive
    // process if no other user has runs. Null if nobody would be left.
    [[nodiscard]] const PartyUse* party_to_limit(const WatchUse& use, std::uint32_t event) const;
    // Watches an event part of the time, if that is affordable. `all_ns` is the cost of everything.
    // False if it is not affordable.
    bool watch_part(const WatchUse& use, Cost& cost, std::uint64_t all_ns,
                    std::uint64_t available_ns, std::uint64_t now_ns,
                    std::vector<BudgetStep>& steps);
    void limit(const WatchUse& use, std::uint32_t event, const PartyUse& party,
               std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    [[nodiscard]] bool is_limited(std::uint32_t event, const HitParty& who) const;
    [[nodiscard]] bool leaves_others(const WatchUse& use, std::uint32_t event, Party party) const;
    [[nodiscard]] std::uint64_t passed_cost_of(const WatchUse& use, std::uint32_t event) const;
    [[nodiscard]] std::uint64_t cost_of(const WatchUse& use, std::uint32_t event) const;
    [[nodiscard]] CostWords words(const WatchUse& use) const;

    settings::Budget budget_;
    std::vector<EventState> events_;
    Given history_, times_;
    bool exhausted_ = false;
    std::uint64_t used_ppm_ = 0;
    std::uint64_t disabled_count_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t over_since_ = 0;  // 0 if the last check was within the share
};

}  // namespace lagtrap::daemon
