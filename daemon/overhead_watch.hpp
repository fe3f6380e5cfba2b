// Looks at what watching costs and gives up what the budget says: takes stacks and events out of the listener, and puts
// them back after a pause. Runs on the io_context it is given, on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/listener.hpp"
#include "daemon/overhead_budget.hpp"
#include "daemon/overhead_probes.hpp"
#include "daemon/own_use.hpp"
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
    };

    // Measures the cost of a probe (measure_probe_costs()).
    OverheadWatch(boost::asio::io_context& context, Options options);

    // Begins to look, everything armed. `listener` must stay until the next use() or stop().
    void use(const settings::Budget& budget, Listener& listener);
    void stop();

    [[nodiscard]] OverheadStatus status() const;
    // When a shed event, or its stacks, are tried again, from now; 0: nothing of it is shed.
    [[nodiscard]] std::chrono::nanoseconds again_in(std::uint32_t event) const;
    [[nodiscard]] OverheadBudget::ShedAt shed_at(std::uint32_t event) const { return budget_.shed_at(event); }
    // What is given up now, a sentence each.
    [[nodiscard]] std::vector<std::string> shed_now() const;

  private:
    // What had been counted at a look.
    struct Counted {
        std::uint64_t at_ns = 0, own_cpu_ns = 0;
        Options::Recordings recordings;
        std::vector<Listener::EventHits> hits;
    };

    void await_look();
    void look();
    [[nodiscard]] Counted count() const;
    [[nodiscard]] WatchUse use_between(const Counted& before, const Counted& now);
    void take(const BudgetStep& step);

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
