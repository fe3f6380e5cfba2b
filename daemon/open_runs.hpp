// The table of open runs, mapped from the kernel: looked through to notice runs that pass their threshold while
// they are open. The bytes are written by BPF programs at the same time; see bpf/listener.h for the order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bpf/listener.h"
#include "core/result.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Whether the event is a function from its entry to its return: then a run lives no longer than its stack frame.
[[nodiscard]] bool pairs_calls(const settings::Event& event);

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
        std::vector<lagtrap_run> overdue;  // not told of before; end_ns is now
        std::uint32_t open = 0;
        std::uint64_t earliest_deadline_ns = LAGTRAP_NEVER_NS;  // of those that are neither overdue nor told of
    };
    // One pass over the tags (64 KiB), reading slots only of runs that are open. An overdue run whose thread is
    // gone, or whose call was left by an exception, is freed and counted as abandoned instead. Without `tell` overdue
    // runs stay untold, for a later pass.
    [[nodiscard]] Look look(std::uint64_t now_ns, const std::vector<settings::Event>& events, bool tell);

    // Copies of all open runs, flagged as open, their end_ns `now_ns`.
    [[nodiscard]] std::vector<lagtrap_run> snapshot(std::uint64_t now_ns) const;

    // Frees the slots of runs whose thread or process is gone.
    void sweep(const std::vector<settings::Event>& events);

    // Frees the slots of all runs of an event whose markers are met no more; they count as abandoned.
    void drop(std::uint32_t event, const std::vector<settings::Event>& events);

    // Open runs by event.
    [[nodiscard]] std::map<std::uint32_t, std::uint64_t> count_open() const;
    // Freed by look() and sweep(), by event.
    [[nodiscard]] const std::map<std::uint32_t, std::uint64_t>& abandoned() const { return abandoned_; }
    // Those since the last call.
    [[nodiscard]] std::vector<Aborted> take_aborted() { return std::exchange(aborted_, {}); }

  private:
    [[nodiscard]] bool can_end(const lagtrap_run& run, const std::vector<settings::Event>& events) const;
    [[nodiscard]] std::optional<lagtrap_run> read_slot(std::size_t index, std::uint64_t tag) const;
    void free_slot(std::size_t index, std::uint64_t tag, const lagtrap_run& run,
                   const std::vector<settings::Event>& events);

    int program_starts_fd_ = -1;
    MappedMemory tags_memory_;
    MappedMemory slots_memory_;
    std::uint64_t* tags_ = nullptr;
    lagtrap_slot* slots_ = nullptr;
    std::map<std::uint32_t, std::uint64_t> abandoned_;
    std::vector<Aborted> aborted_;
};

}  // namespace lagtrap::daemon
