// Decides what to do before the kernel's OOM killer acts, when the daemon's unit comes close to its
// memory limit. First no more unwind tables are made, then merges are postponed (captures wait on
// disk). Both resume when there is memory again.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/log.hpp"
#include "daemon/budget/memory_group.hpp"

namespace lagtrap::daemon {

struct MemoryHolds {
    bool tables = false;  // new unwind tables are refused
    bool merges = false;  // merges are postponed
    friend bool operator==(const MemoryHolds&, const MemoryHolds&) = default;
};

// Makes decisions only: uses neither files nor a clock.
class MemoryBudget {
  public:
    // The memory to keep free: a quarter of the limit, at most 128 MiB. With less, unwind tables
    // get no more memory; with less than half of it, merges wait.
    [[nodiscard]] static std::uint64_t min_room_bytes(std::uint64_t limit_bytes);
    // A disabled feature is enabled again when 50 % more memory is free than the amount below which
    // it is disabled. Nothing is disabled without a limit.
    MemoryHolds look(const std::optional<MemoryUse>& use);

  private:
    MemoryHolds holds_;
};

struct MemoryStatus {
    std::optional<MemoryUse> use;  // nullopt if there is no limit
    MemoryHolds holds;
    std::uint64_t disabled_count = 0;
    std::uint64_t mapping_bytes = 0;  // part of `use`: memory mappings of processes
    std::uint64_t killed = 0;         // by the OOM killer, since this daemon started
};

// Use it on one thread.
class MemoryWatch {
  public:
    // Without a group it never disables anything.
    MemoryWatch(std::optional<MemoryGroup> group, Log log);

    // Checks the group, logs what changes, and returns what is to be held from now on. Call it
    // every interval(). `mapping_bytes` is the memory held for mappings of processes.
    MemoryHolds look(std::uint64_t mapping_bytes);
    // A limit can be set at any time, so checks continue without one. nullopt: never.
    [[nodiscard]] std::optional<std::chrono::seconds> interval() const;

    [[nodiscard]] MemoryStatus status() const { return status_; }
    // One sentence for each feature that is disabled now.
    [[nodiscard]] std::vector<std::string> disabled_now() const;

  private:
    void log_change(bool was, bool is, const char* sentence, const char* again);

    std::optional<MemoryGroup> group_;
    Log log_;
    MemoryBudget budget_;
    MemoryStatus status_;
    std::uint64_t killed_before_ = 0;
};

}  // namespace lagtrap::daemon
