// The table of open runs, mapped from the kernel: looked through to notice runs that pass their threshold while
// they are open. The bytes are written by BPF programs at the same time; see bpf/listener.h for the order.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "daemon/events/hit_party.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Whether the event is a function from its entry to its return: then a run lives no longer than its stack frame.
[[nodiscard]] bool pairs_calls(const settings::Event& event);

// Whether begin and end are reached by one thread in a program, so that its stack pointer at both can be compared.
[[nodiscard]] bool keeps_stack_order(const settings::Event& event);

// Whether the time of the threads of the event's runs is counted, by what they did.
[[nodiscard]] bool counts_times(const settings::Event& event);

// A file mapped into memory, unmapped at the end.
class MappedMemory {
  public:
    MappedMemory() = default;
    [[nodiscard]] static Result<MappedMemory> map(int fd, std::size_t bytes);
    MappedMemory(MappedMemory&& other) noexcept;
    MappedMemory& operator=(MappedMemory&& other) noexcept;
    ~MappedMemory();
    [[nodiscard]] void* data() const { return data_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Whether the thread (or, for the process as a whole, thread = process) that began at or before `begin_hit_ns`
// still lives. A thread of the same number that started later is another one.
[[nodiscard]] bool thread_alive(std::uint32_t pid, std::uint32_t tid, std::uint64_t begin_hit_ns);

// Not for several threads at once.
class OpenRuns {
  public:
    // A run that was freed by look() or sweep(), of an event whose runs are recorded; end_ns is when it was noticed.
    struct Aborted {
        lagtrap_run_report report{};
        lagtrap_run run{};
    };

    [[nodiscard]] static Result<OpenRuns> map(int tags_fd, int slots_fd);

    // The map of when each process last became another program; without it exec ends no run. Not owned.
    void follow_programs(int program_starts_fd) { program_starts_fd_ = program_starts_fd; }

    struct Look {
        std::uint32_t early_pid = 0;                     // whose run is past its early point, and not told of; 0: none
        std::uint64_t next_early_ns = LAGTRAP_NEVER_NS;  // when the next will be
        std::vector<lagtrap_run> overdue;                // not told of before; end_ns is now
        std::uint32_t open = 0;
        std::uint64_t earliest_deadline_ns = LAGTRAP_NEVER_NS;  // of those that are neither overdue nor told of
    };
    // Whether an overdue run of the event is a slow one, rather than one whose end was not seen.
    using IsBelieved = std::function<bool(std::uint32_t event)>;
    // One pass over the tags (64 KiB), reading slots only of runs that are open. An overdue run whose thread is
    // gone, or whose call was left by an exception or a panic, is freed and counted as abandoned instead; one of a goroutine
    // that cannot be asked is not told while it is open. Those that `tell` leaves out stay untold, for a later pass; so do
    // doubtful ones, and those of events that are not believed.
    enum class Tell { Nothing, WhoMayRecord, Everything };
    // `early_points_ns`, by event: the age at which a run is past its early point; empty: there are none.
    [[nodiscard]] Look look(std::uint64_t now_ns, const std::vector<settings::Event>& events, Tell tell,
                            const IsBelieved& is_believed, const std::vector<std::uint64_t>& early_points_ns = {});

    // Whether this run holds a slot. Its end is told before the slot is given up.
    [[nodiscard]] bool is_open(std::uint32_t event, std::uint32_t tid, std::uint64_t begin_ns) const;
    // Copies of all open runs, flagged as open, their end_ns `now_ns`; without overdue ones that look() would not tell.
    [[nodiscard]] std::vector<lagtrap_run> snapshot(std::uint64_t now_ns, const IsBelieved& is_believed) const;

    // The tables of threads whose time is counted, as timed_sets and thread_times have them.
    [[nodiscard]] Status map_times(int sets_fd, int times_fd);
    // Of each open run what its thread's counts know now; of one that is a wait for a CPU, that it was nothing else.
    [[nodiscard]] std::vector<lagtrap_run_so_far> so_far(const std::vector<settings::Event>& events) const;

    // Frees the slots of runs whose thread or process is gone; and of stale ones, where an event has so many runs open that
    // some seem to have no end, or whose keys are the machine's and nobody seems left to end them.
    void sweep(std::uint64_t now_ns, const std::vector<settings::Event>& events);

    // Frees the slots of one party's runs of an event, whose ends will pass; they count as abandoned.
    void leave_out(std::uint32_t event, const HitParty& who, const std::vector<settings::Event>& events);
    // These users' runs are left out by Tell::WhoMayRecord.
    void set_users_without_recordings(std::set<std::uint32_t> uids) { users_without_recordings_ = std::move(uids); }

    // Frees the slots of all runs of an event whose markers are met no more; they count as abandoned.
    void drop(std::uint32_t event, const std::vector<settings::Event>& events);

    // What the begin markers of open runs carried as ids of traces.
    [[nodiscard]] std::vector<lagtrap_trace_text> trace_texts(const std::vector<settings::Event>& events) const;

    // Of the open runs of an event the stages are not told: their markers go, or come back.
    void leave_stages(std::uint32_t event);

    // The runs of one event.
    struct Counts {
        std::uint64_t open = 0;
        std::uint64_t overdue = 0;    // of these, over their threshold, and not doubtful
        std::uint64_t stale = 0;      // of these, for LAGTRAP_STALE_NS and LAGTRAP_STALE_THRESHOLDS
        std::uint64_t oldest_ns = 0;  // when the first of these began; 0: none is open
        std::uint64_t told = 0;       // overdue runs that look() gave, since the beginning
        std::uint64_t abandoned = 0;  // freed by look() and sweep(), as nobody is left to end them
        std::uint64_t expired = 0;    // freed by sweep(), as stale
    };
    [[nodiscard]] std::map<std::uint32_t, Counts> count(std::uint64_t now_ns) const;
    // Those since the last call.
    [[nodiscard]] std::vector<Aborted> take_aborted() { return std::exchange(aborted_, {}); }

  private:
    void look_early(std::size_t index, std::uint64_t tag, std::uint64_t now_ns,
                    const std::vector<settings::Event>& events, std::uint64_t point_ns, Look& result) const;
    [[nodiscard]] bool can_end(const lagtrap_run& run, const std::vector<settings::Event>& events) const;
    [[nodiscard]] std::optional<lagtrap_run> read_slot(std::size_t index, std::uint64_t tag) const;
    // False: it ended, or gave way, before.
    bool free_slot(std::size_t index, std::uint64_t tag);
    void abandon(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                 const std::vector<settings::Event>& events);
    // Calls `each` with the index and the tag of every open run.
    template <typename Each>
    void for_each_open(Each each) const {
        for (std::size_t index = 0; index < LAGTRAP_OPEN_SLOTS; ++index) {
            const bool is_spill_count = index % LAGTRAP_BUCKET_SLOTS == LAGTRAP_BUCKET_TAGS;
            const std::uint64_t tag = __atomic_load_n(&tags_[index], __ATOMIC_ACQUIRE);
            if (tag != 0 && tag != LAGTRAP_TAG_TAKEN && !is_spill_count) each(index, tag);
        }
    }

    int program_starts_fd_ = -1;
    std::set<std::uint32_t> users_without_recordings_;
    MappedMemory tags_memory_;
    MappedMemory slots_memory_;
    std::uint64_t* tags_ = nullptr;
    lagtrap_slot* slots_ = nullptr;
    MappedMemory timed_memory_;
    MappedMemory times_memory_;
    std::map<std::uint32_t, Counts> counts_;  // what happened, by event; what is open stays 0
    std::vector<Aborted> aborted_;
};

}  // namespace lagtrap::daemon
