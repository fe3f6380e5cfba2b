// Frees memory before the kernel's OOM killer acts, when the daemon's unit comes close to its
// memory limit. First it stops making unwind tables, then it postpones merges (captures wait on
// disk). Both resume when there is memory again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

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

// Runs on one thread: the one that runs the io_context.
class MemoryWatch {
  public:
    struct Options {
        std::function<void(const std::string&)> inform;
        std::function<void(const std::string&)> warn;
        std::function<void(bool held)> hold_tables;
        std::function<void(bool held)> hold_merges;
        // memory held for mappings of processes; may be empty
        std::function<std::uint64_t()> mapping_bytes{};
    };

    // Starts checking at once. Without a group it never disables anything.
    MemoryWatch(boost::asio::io_context& context, std::optional<MemoryGroup> group,
                Options options);
    void stop() { timer_.cancel(); }

    [[nodiscard]] MemoryStatus status() const { return status_; }
    // One sentence for each feature that is disabled now.
    [[nodiscard]] std::vector<std::string> disabled_now() const;

  private:
    void look();
    void await_look();

    boost::asio::steady_timer timer_;
    std::optional<MemoryGroup> group_;
    Options options_;
    MemoryBudget budget_;
    MemoryStatus status_;
    std::uint64_t killed_before_ = 0;
};

}  // namespace lagtrap::daemon
