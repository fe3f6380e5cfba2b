// What to give up when watching costs more than the settings allow, and when to try it again. Only decides: no kernel, no
// clock of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "settings/settings.hpp"

namespace lagtrap::daemon {

// What watching one event cost between two looks.
struct EventUse {
    std::uint64_t hits = 0;
    std::uint64_t probe_ns = 0;  // kernel and programs, without stacks
    std::uint64_t stack_ns = 0;  // of taking stacks at its markers
    bool armed = false;          // or shed; never armed at all: false, and nothing is done about it
};

struct WatchUse {
    std::uint64_t elapsed_ns = 0;
    std::uint64_t own_cpu_ns = 0;  // of the daemon, but for recordings
    bool exact = false;            // the run time of the programs was measured, not assumed
    std::vector<EventUse> events;
};

struct BudgetStep {
    enum class Action { DropStacks, TakeStacks, Detach, Attach };
    Action action = Action::Detach;
    std::uint32_t event = 0;
    std::string reason;  // for people; of DropStacks and Detach
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
    [[nodiscard]] std::uint64_t looks() const { return looks_; }
    // The look at which the event was shed, and the first of those, one after the other, that had found the share passed.
    struct ShedAt {
        std::uint64_t look = 0, over_since = 0;
    };
    [[nodiscard]] ShedAt shed_at(std::uint32_t event) const;
    [[nodiscard]] const settings::Budget& budget() const { return budget_; }

  private:
    // What was given up of an event, and how often before.
    struct Given {
        bool up = false;
        std::uint32_t times = 0;
        ShedAt at;
        std::uint64_t again_ns = 0;
    };
    struct EventState {
        Given stacks, probes;
    };
    struct Cost {
        std::uint32_t event = 0;
        std::uint64_t cost_ns = 0;
    };

    void give_up(Given& given, std::uint64_t now_ns);
    void forgive(Given& given, std::uint64_t now_ns) const;
    void try_again(std::vector<BudgetStep>& steps, std::uint64_t now_ns);
    [[nodiscard]] std::uint64_t pause_ns(const Given& given) const;
    [[nodiscard]] std::vector<Cost> costliest(const WatchUse& use, settings::Shed kind) const;
    void shed_until(std::uint64_t& cost_ns, std::uint64_t available_ns, const WatchUse& use, settings::Shed kind,
                    std::uint64_t now_ns, std::vector<BudgetStep>& steps);
    [[nodiscard]] std::uint64_t cost_of(const WatchUse& use, std::uint32_t event) const;
    [[nodiscard]] std::string reason_of(const WatchUse& use, const Cost& cost, settings::Shed kind,
                                        std::uint64_t all_ns) const;

    settings::Budget budget_;
    std::vector<EventState> events_;
    bool exhausted_ = false;
    std::uint64_t used_ppm_ = 0;
    std::uint64_t times_shed_ = 0;
    std::uint64_t looks_ = 0;
    std::uint64_t over_since_ = 0;  // 0: the last look found the share kept
};

// "12.5 %" of millionths.
[[nodiscard]] std::string percent_of_ppm(std::uint64_t ppm);

}  // namespace lagtrap::daemon
