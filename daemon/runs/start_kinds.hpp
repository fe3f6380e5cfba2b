// Cold and warm starts, by the rule of the event's settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "settings/settings.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {

// What is known of a run when its kind is asked for. Times are CLOCK_MONOTONIC.
struct StartFacts {
    std::uint64_t process = 0;             // what stands for process and program
    std::uint64_t process_started_ns = 0;  // 0: not known
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::string program;  // path; empty: not known
    std::uint32_t weight = 1;
};

// One thread's, of all events. Holds a bounded number of processes and programs; what was forgotten is not known again.
class StartKinds {
  public:
    // The events that there are from now on. Runs of those that are new were not watched before `since_ns`.
    void watch(const std::vector<std::string>& events, std::uint64_t since_ns);

    // Each run of the event, once, about in order of their ends. Unknown where the event has no rule, and where runs that
    // nobody watched may have come before.
    [[nodiscard]] trace::StartKind decide(const std::string& event, const settings::ColdRule& rule,
                                          const StartFacts& run);

  private:
    struct Watched {
        std::uint64_t since_ns = 0;
        std::unordered_map<std::uint64_t, std::uint64_t> processes;  // the end of their last run
        std::map<std::string, std::uint64_t> programs;               // the same
    };
    [[nodiscard]] static trace::StartKind by_process(Watched& watched, const StartFacts& run);
    [[nodiscard]] static trace::StartKind by_time(Watched& watched, std::uint64_t after_ns, const StartFacts& run);

    std::map<std::string, Watched> events_;
};

}  // namespace lagtrap::daemon
