// Moves open runs from the table of one event monitor's programs to that of the next, while both
// sets of programs are attached. So a change of the settings ends no run of an event that did not
// change.
//
// The new programs handle hits from before the copy, the old ones until after it, and runs that
// ended in between are removed again. So no end is missed. A key that begins a run at this moment
// may lose the enclosing run, which counts as abandoned.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bpf/event_monitor.h"
#include "core/result.hpp"
#include "daemon/events/run_table.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// True if both events turn the same hits into the same runs. Their position in the file, and how
// delays are recorded, do not matter.
[[nodiscard]] bool make_the_same_runs(const settings::Event& one, const settings::Event& other);

class RunTakeover {
  public:
    // What became of the runs of one event.
    struct Counts {
        std::uint64_t taken = 0;
        std::uint64_t reported = 0;  // part of `taken`: delays noticed while open
        std::uint64_t left = 0;      // open, but not taken
    };

    // The maps of an event monitor's programs. The descriptors are used only during the call.
    struct Table {
        int tags_fd = -1, slots_fd = -1;
        std::uint32_t buckets = LAGTRAP_MIN_BUCKETS;
    };
    [[nodiscard]] static Result<RunTakeover> between(Table from, Table to);

    // Copies the open runs of events: `numbers` maps their numbers in the old table to those in the
    // new one; `events` are those of the old table.
    void copy(const std::map<std::uint32_t, std::uint32_t>& numbers,
              const std::vector<settings::Event>& events);
    // Removes copied runs that have ended in the old table since. Call it when no program uses the
    // old table any more.
    void settle();
    // By number of the event in the old table.
    [[nodiscard]] const std::map<std::uint32_t, Counts>& counts() const { return counts_; }

  private:
    struct Copied {
        std::size_t from = 0, to = 0;
        std::uint64_t old_tag = 0, tag = 0, begin_hit_ns = 0;
        std::uint32_t event = 0;
        bool reported = false;
    };
    [[nodiscard]] bool put(const lagtrap_slot& slot, std::uint64_t tag, std::size_t& index);
    [[nodiscard]] bool is_there(std::uint64_t tag) const;
    [[nodiscard]] bool claim(std::uint64_t tag, std::size_t& index);
    [[nodiscard]] bool claim_in(std::uint32_t bucket, std::size_t& index);
    void free(const Copied& run);

    RunTable from_, to_;
    std::vector<Copied> copied_;
    std::map<std::uint32_t, Counts> counts_;
};

}  // namespace lagtrap::daemon
