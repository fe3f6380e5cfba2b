// Which code space each process has, who owns the process, and which space the kernel side has of
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "bpf/records.h"
#include "core/party.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/code_space.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class ProcessTable {
  public:
    using Clock = std::chrono::steady_clock;
    // The owner of a process; nullopt if it is gone.
    using FindUser = std::function<std::optional<Party>(std::uint32_t pid)>;
    // Processes share a space until one of them changes after a fork.
    struct Process {
        std::shared_ptr<CodeSpace> space;      // null if only its owner is known
        std::shared_ptr<CodeSpace> published;  // the space that the kernel side has
        std::uint32_t first_block = 0;         // and its first block
        std::optional<Party> user;
        Clock::time_point next_look_at_user;
    };
    using Processes = std::unordered_map<std::uint32_t, Process>;  // by pid

    // `store` must outlive it. `total_bytes` limits the room of all spaces together.
    ProcessTable(UnwindMemory& store, FindUser find_user, std::uint64_t total_bytes);

    [[nodiscard]] Processes& all() { return processes_; }
    [[nodiscard]] const Processes& all() const { return processes_; }
    // Null if the process is not known, or has no space.
    [[nodiscard]] Process* find(std::uint32_t pid);
    [[nodiscard]] const Process* find(std::uint32_t pid) const;
    // The space of a process, for changes: a copy if it is shared. If there is no room for a copy,
    // the process starts with an empty space until it is read again. Adds the process if it is not
    // known.
    [[nodiscard]] CodeSpace& own_space(std::uint32_t pid);

    void fork(const lagtrap_task_change& change);
    void exec(std::uint32_t pid);
    // Forgets a process, here and on the kernel side.
    void end(std::uint32_t pid);
    // Gives each process an empty space; the kernel side forgets all processes.
    void begin_anew();
    // Tells the kernel side where the space of a process is, if that has changed. False if there
    // is no room for the process. `process` needs a space.
    [[nodiscard]] bool publish(std::uint32_t pid, Process& process);

    // The owner as it is now; unknown_party if the process is gone.
    [[nodiscard]] Party user_now(std::uint32_t pid) const;
    // Takes over the owner as it is now. Adds the process if it is not known.
    void note_user(std::uint32_t pid);
    // Look up the owner of a process with a space again, and charge the space to the owner:
    // refresh_user() only if the last look was some time ago, look_at_user() at once.
    void refresh_user(std::uint32_t pid, Process& process, Clock::time_point now);
    void look_at_user(std::uint32_t pid, Process& process);

    // What the spaces take, by owner.
    [[nodiscard]] UserShares& room() { return room_; }
    [[nodiscard]] const UserShares& room() const { return room_; }

  private:
    [[nodiscard]] std::shared_ptr<CodeSpace> new_space(std::uint32_t pid);
    [[nodiscard]] Party user_of(std::uint32_t pid, Process& process) const;

    UnwindMemory& store_;
    FindUser find_user_;
    UserShares room_;  // must outlive the spaces
    Processes processes_;
};

// Looks it up in /proc.
[[nodiscard]] std::optional<Party> find_user(std::uint32_t pid);

}  // namespace lagtrap::daemon
