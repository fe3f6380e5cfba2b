// The table of threads whose time is measured (bpf/timed_threads.bpf.h).
#pragma once

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Owns these maps, which must exist before the programs that share them are loaded: the event
// monitor's programs write them, the recorder's read them. They have one entry if no event needs
// the time breakdown.
class TimedThreads {
  public:
    // Needs CAP_BPF.
    static Result<TimedThreads> create(const settings::Settings& settings);

    // Valid as long as this object lives. Programs loaded with them have their own descriptors.
    [[nodiscard]] int sets_fd() const { return sets_.get(); }
    [[nodiscard]] int times_fd() const { return times_.get(); }

  private:
    TimedThreads() = default;

    UniqueFd sets_;
    UniqueFd times_;
};

}  // namespace lagtrap::daemon
