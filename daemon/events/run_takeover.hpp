// Open runs move from the table of one listener's programs to that of the next, while both sets of programs are in the
// watched programs: a change of the settings ends no run of an event that did not change.
//
// The new programs count from before the runs are copied, the old ones until after, and what has ended meanwhile is taken back:
// so no end is missed. A key that begins a run in this moment may lose the one around it, which counts as abandoned.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/run_table.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Whether two settings have the same hits make the same runs; where the file says it, and how a delay is recorded, does not
// matter.
[[nodiscard]] bool make_the_same_runs(const settings::Event& one, const settings::Event& other);

class RunTakeover {
  public:
    // What became of the runs of one event.
    struct Counts {
        std::uint64_t taken = 0;
        std::uint64_t told = 0;  // of these, delays that were noticed while they were open
        std::uint64_t left = 0;  // open, and not taken
    };

    // The maps of a listener's programs; the descriptors are used now alone.
    struct Table {
        int tags_fd = -1, slots_fd = -1;
    };
    [[nodiscard]] static Result<RunTakeover> between(Table from, Table to);

    // Copies the open runs of the events whose numbers there are given with their numbers here; `events` are those there.
    void copy(const std::map<std::uint32_t, std::uint32_t>& numbers, const std::vector<settings::Event>& events);
    // Frees what was copied and has ended there since. When no program works on the table there any more.
    void settle();
    // By the events' numbers there.
    [[nodiscard]] const std::map<std::uint32_t, Counts>& counts() const { return counts_; }

  private:
    struct Copied {
        std::size_t from = 0, to = 0;
        std::uint64_t old_tag = 0, tag = 0, begin_hit_ns = 0;
        std::uint32_t event = 0;
        bool told = false;
    };
    [[nodiscard]] bool put(const lagtrap_slot& slot, std::uint64_t tag, std::size_t& index);
    [[nodiscard]] bool is_there(std::uint64_t tag) const;
    [[nodiscard]] bool claim_in(std::uint32_t bucket, std::size_t& index);
    void free(const Copied& run);

    RunTable from_, to_;
    std::vector<Copied> copied_;
    std::map<std::uint32_t, Counts> counts_;
};

}  // namespace lagtrap::daemon
