// Stages for the functions that `lagtrap add` offers: the few functions that they call and that
// divide their time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/run_batches/run_batch.hpp"

namespace lagtrap::cli {

// A function that another calls, perhaps through others.
struct SeenCallee {
    std::string name;                  // printable
    std::uint64_t share_permille = 0;  // of the caller's time, running and waiting
    bool operator==(const SeenCallee&) const = default;
};

inline constexpr std::size_t max_dividing_callees = 5;

// Which function spent how much of its time in which callee, over all stacks.
class CalleeTimes {
  public:
    // A stack's functions, outermost first, and the time that a thread had it.
    void add(const std::vector<std::string>& path, std::uint64_t time_ns);
    // The callees that divide the function's time, most time first; at most max_dividing_callees.
    // If nearly all of it is in one callee, that one's callees follow.
    [[nodiscard]] std::vector<SeenCallee> dividing(const std::string& function) const;

  private:
    struct Times {
        std::uint64_t total_ns = 0;
        std::map<std::string, std::uint64_t> callees_ns;
    };
    [[nodiscard]] std::vector<SeenCallee> callees_of(const std::string& function,
                                                     double scale) const;

    std::map<std::string, Times, std::less<>> functions_;
};

struct OfferedStage {
    std::string name;                  // as in the settings
    std::string function;              // as in the settings
    std::uint64_t share_permille = 0;  // of the runs' time, until the next stage
    std::uint64_t runs = 0;            // that reach it
};

// Stages named after the last part of each function's name, all different. `written` is how the
// settings name the functions.
[[nodiscard]] std::vector<OfferedStage> stages_at(const std::vector<std::string>& written);

struct StageCheck {
    std::uint64_t runs = 0;            // on which it is based
    std::vector<OfferedStage> stages;  // that divide their time, in their order; empty if none do
    std::uint64_t before_permille = 0;
};
// Keeps those stages that runs reach once, in which enough of their time is spent. Without the
// others, their time counts as that of the stage before them.
[[nodiscard]] StageCheck check_stages(std::vector<OfferedStage> stages,
                                      const std::vector<trace::RecordedRun>& runs);

}  // namespace lagtrap::cli
