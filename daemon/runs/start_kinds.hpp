// Decides whether runs are cold or warm starts, by the rule in the event's settings.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "settings/settings.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::daemon {

// What is known about a run when its kind is decided. Times are CLOCK_MONOTONIC.
struct StartFacts {
    std::uint64_t process = 0;             // identifies process and program
    std::uint64_t process_started_ns = 0;  // 0 if unknown
    std::uint64_t begin_ns = 0, end_ns = 0;
    std::string program;  // path; empty if unknown
    std::uint32_t weight = 1;
};

// Use it on one thread, for all events. Holds a limited number of processes and programs; what was
// dropped counts as unknown.
class StartKinds {
  public:
    // Sets the current events. Runs of new events were not watched before `since_ns`.
    void watch(const std::vector<std::string>& events, std::uint64_t since_ns);

    // Call it once for each run of the event, approximately in the order of their ends. Unknown if
    // the event has no rule, or if runs that were not watched may have come before.
    [[nodiscard]] trace::StartKind decide(const std::string& event, const settings::ColdRule& rule,
                                          const StartFacts& run);

  private:
    struct Watched {
        std::uint64_t since_ns = 0;
        // end of the last run, by process
        std::unordered_map<std::uint64_t, std::uint64_t> processes;
        std::map<std::string, std::uint64_t> programs;  // likewise, by program
    };
    [[nodiscard]] static trace::StartKind by_process(Watched& watched, const StartFacts& run);
    [[nodiscard]] static trace::StartKind by_time(Watched& watched, std::uint64_t after_ns,
                                                  const StartFacts& run);

    std::map<std::string, Watched> events_;
};

}  // namespace lagtrap::daemon
