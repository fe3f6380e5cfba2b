// What to give up when watching costs more than the settings allow, and when to try it again. Only decides: no kernel, no
// clock of its own.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/events/hit_party.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What one party's hits of an event cost between two looks.
struct PartyUse {
    HitParty who;
    std::uint64_t paired_ns = 0;
    std::uint64_t passed_ns = 0;  // out of scope, or limited: what the kernel takes at the probes
};

// What watching one event cost between two looks.
struct EventUse {
    std::uint64_t hits = 0;
    std::uint64_t probe_ns = 0;  // kernel and programs, without stacks; of hits that were paired
    std::uint64_t stack_ns = 0;  // of taking stacks at its markers
    bool armed = false;          // or shed; never armed at all: false, and nothing is done about it
    std::vector<PartyUse> users{}, processes{};
    SeenParties seen{};
    std::uint64_t stage_ns = 0;  // of probe_ns: at the markers of its stages
    std::uint64_t count_ns = 0;  // its begins, if each did nothing but count; 0: it cannot be counted
};

struct WatchUse {
    std::uint64_t elapsed_ns = 0;
    std::uint64_t own_cpu_ns = 0;  // of the daemon, but for recordings
    bool exact = false;            // the run time of the programs was measured, not assumed
    std::vector<EventUse> events{};
    std::uint64_t history_ns = 0;  // of keeping what happens before a breach
    std::uint64_t times_ns = 0;    // of counting where the time of runs goes
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
        WatchPart,  // taken out until the next Attach, of an event that is watched a part of the time
        StopCount,  // of an event that Detach or WatchPart left counted
        Attach,
        WatchWhole  // the part is all of the time again
    };
    Action action = Action::Detach;
    std::uint32_t event = 0;  // not of the history and the times, which are of all
    std::string reason;       // for people; of what gives something up
    HitParty party{};         // of Limit and Release
    bool news = true;         // false: of WatchPart and Attach, one more turn of what was said before
    bool counted = false;     // of Detach and WatchPart: its begins are counted meanwhile
};

class OverheadBudget {
  public:
    OverheadBudget() = default;
    OverheadBudget(settings::Budget budget, std::size_t events) : budget_(std::move(budget)), events_(events) {}

    // What is to be done now, in this order. Looked at every budget.interval. A cost of less than twice the share that is not
    // exact is acted on at the second look that finds it.
    [[nodiscard]] std::vector<BudgetStep> look(const WatchUse& use, std::uint64_t now_ns);

    // Of the last look, in millionths of one CPU.
    [[nodiscard]] std::uint64_t used_ppm() const { return used_ppm_; }
    // More than the share was used, and nothing that may be given up is left.
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    // Events and stacks given up since the beginning.
    [[nodiscard]] std::uint64_t times_shed() const { return times_shed_; }
    // When what was given up of an event is tried again; 0: nothing is given up.
    [[nodiscard]] std::uint64_t again_ns(std::uint32_t event) const;
    [[nodiscard]] std::uint64_t stages_again_ns(std::uint32_t event) const;
    // Since when; 0: they are not given up.
    [[nodiscard]] std::uint64_t stages_since_ns(std::uint32_t event) const;
    // Whether no begin is missed while the event is not watched, or was not between its last turns.
    [[nodiscard]] bool counts_all(std::uint32_t event) const;
    // How much of the time an event is watched that is hit too often to be watched always; a million: all of it, or none.
    [[nodiscard]] std::uint64_t watched_ppm(std::uint32_t event) const;
    [[nodiscard]] std::uint64_t looks() const { return looks_; }
    // When the history is kept, and times are counted again; 0: they are.
    [[nodiscard]] std::uint64_t history_again_ns() const { return history_.up ? history_.again_ns : 0; }
    [[nodiscard]] std::uint64_t times_again_ns() const { return times_.up ? times_.again_ns : 0; }
    // The look at which the event was shed, and the first of those, one after the other, that had found the share passed.
    struct ShedAt {
        std::uint64_t look = 0, over_since = 0;
    };
    [[nodiscard]] ShedAt shed_at(std::uint32_t event) const;
    // Those whose hits of the event do nothing but count.
    struct Limit {
        HitParty who;
        std::string reason;  // for people
        std::uint64_t again_ns = 0;
    };
    [[nodiscard]] std::vector<Limit> limits(std::uint32_t event) const;
    [[nodiscard]] const settings::Budget& budget() const { return budget_; }

  private:
    // What was given up of an event, and how often before.
    struct Given {
        bool up = false;
        std::uint32_t times = 0;
        ShedAt at;
        std::uint64_t since_ns = 0, again_ns = 0;
    };
    struct LimitedParty {
        Given given;
        std::string reason;
    };
    struct EventState {
        Given stacks, stages, probes;
        bool counted = false;     // of one that is given up: its begins are counted
        bool counts_all = false;  // they were when it was given up last
        std::map<HitParty, LimitedParty> parties;
        std::uint64_t looks_off = 0;  // for each look that finds it watched; 0: it is watched all the time
    };
    struct Cost {
        std::uint32_t event = 0;
        std::uint64_t cost_ns = 0;
    };

    void give_up(Given& given, std::uint64_t now_ns);
    // What is of all events: `part_ns` of the cost.
    void shed_whole(Given& given, BudgetStep::Action action, std::uint64_t part_ns, std::uint64_t& cost_ns,
                    std::uint64_t available_ns, const WatchUse& use, std::uint64_t now_ns,
                    std::vector<BudgetStep>& steps);
    void forgive(Given& given, std::uint64_t now_ns) const;
    void try_again(std::vector<BudgetStep>& steps, std::uint64_t now_ns);
    [[nodiscard]] std::uint64_t pause_ns(const Given& given) const;
    [[nodiscard]] std::vector<Cost> costliest(const WatchUse& use, settings::Shed kind) const;
    void shed_until(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use, settings::Shed kind,
                    std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    void shed_stages(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use, std::uint64_t now_ns,
                     std::vector<BudgetStep>& steps);
    void stop_counts(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use,
                     std::vector<BudgetStep>& steps);
    // What watching it costs, without what was given up of it.
    [[nodiscard]] std::uint64_t whole_cost_of(const WatchUse& use, std::uint32_t event) const;
    void detach(const WatchUse& use, const Cost& cost, std::uint64_t& all_ns, std::uint64_t available_ns,
                std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    // Who is to be taken out of an event: the costliest user, or his costliest process where he is alone with it; null where
    // nobody would be left.
    [[nodiscard]] const PartyUse* party_to_limit(const WatchUse& use, std::uint32_t event) const;
    // Where a part of the time is affordable. `all_ns`: of everything, and what of it may be used.
    bool watch_part(const WatchUse& use, Cost& cost, std::uint64_t all_ns, std::uint64_t available_ns,
                    std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    void limit(const WatchUse& use, std::uint32_t event, const PartyUse& party, std::uint64_t now_ns,
               std::vector<BudgetStep>& steps);
    [[nodiscard]] bool is_limited(std::uint32_t event, const HitParty& who) const;
    [[nodiscard]] bool leaves_others(const WatchUse& use, std::uint32_t event, Party party) const;
    [[nodiscard]] std::uint64_t passed_cost_of(const WatchUse& use, std::uint32_t event) const;
    [[nodiscard]] std::uint64_t cost_of(const WatchUse& use, std::uint32_t event) const;
    [[nodiscard]] std::string reason_of(const WatchUse& use, const Cost& cost, settings::Shed kind,
                                        std::uint64_t all_ns) const;

    settings::Budget budget_;
    std::vector<EventState> events_;
    Given history_, times_;
    bool exhausted_ = false;
    std::uint64_t used_ppm_ = 0;
    std::uint64_t times_shed_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t over_since_ = 0;  // 0: the last look found the share kept
};

// "12.5 %" of millionths.
[[nodiscard]] std::string percent_of_ppm(std::uint64_t ppm);

}  // namespace lagtrap::daemon
