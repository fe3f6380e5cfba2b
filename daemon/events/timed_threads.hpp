// The table of threads whose time is counted (bpf/timed_threads.bpf.h).
#pragma once

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// The maps themselves, made before either of those who share them is loaded: the listener's programs write them, the collector's
// look into them. Where no event of the settings counts times they have one entry.
class TimedThreads {
  public:
    // Needs CAP_BPF.
    static Result<TimedThreads> create(const settings::Settings& settings);

    // As long as this lives; whoever loads programs with them has descriptors of its own.
    [[nodiscard]] int sets_fd() const { return sets_.get(); }
    [[nodiscard]] int times_fd() const { return times_.get(); }

  private:
    TimedThreads() = default;

    UniqueFd sets_;
    UniqueFd times_;
};

}  // namespace lagtrap::daemon
