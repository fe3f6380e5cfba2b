// Gives up what can be done without when the memory of the daemon's unit gets short, before the kernel ends something:
// first room for more unwind tables, then merges, which wait on the disk. Both come back by themselves.
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

struct MemoryShed {
    bool tables = false;  // no room for more
    bool merges = false;  // wait
    friend bool operator==(const MemoryShed&, const MemoryShed&) = default;
};

// Only decides: no files, no clock.
class MemoryBudget {
  public:
    // Below this room tables get no more memory, and below half of it merges wait: a quarter of the limit, 128 MiB at most.
    [[nodiscard]] static std::uint64_t least_room_bytes(std::uint64_t limit_bytes);
    // What is given up stays so until there is half as much room again; without a limit nothing is.
    MemoryShed look(const std::optional<MemoryUse>& use);

  private:
    MemoryShed shed_;
};

struct MemoryStatus {
    std::optional<MemoryUse> use;  // nullopt: no limit
    MemoryShed shed;
    std::uint64_t times_shed = 0;
    std::uint64_t mapping_bytes = 0;  // of the use, what is known of processes' mappings
    std::uint64_t killed = 0;         // processes that the kernel ended at the limit, since the daemon began
};

// Runs on the io_context it is given, on one thread.
class MemoryWatch {
  public:
    struct Options {
        std::function<void(const std::string&)> inform;
        std::function<void(const std::string&)> warn;
        std::function<void(bool held)> hold_tables;
        std::function<void(bool held)> hold_merges;
        std::function<std::uint64_t()> mapping_bytes{};  // held of what processes have mapped; may be empty
    };

    // Begins to look at once. Without a group nothing is ever given up.
    MemoryWatch(boost::asio::io_context& context, std::optional<MemoryGroup> group, Options options);
    void stop() { timer_.cancel(); }

    [[nodiscard]] MemoryStatus status() const { return status_; }
    // What is given up now, a sentence each.
    [[nodiscard]] std::vector<std::string> shed_now() const;

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
