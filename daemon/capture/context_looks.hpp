// When to look whether a process publishes what its threads work for. Looking takes about as long
// as reading its mappings, so those that publish nothing are looked at more and more seldom.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace lagtrap::daemon {

class ContextLooks {
  public:
    // The processes of `running` to look at now, `first_pid` (0: none) first. Forgets the others.
    [[nodiscard]] std::vector<std::uint32_t> due(const std::set<std::uint32_t>& running,
                                                 std::uint32_t first_pid, std::uint64_t now_ns);
    void note(std::uint32_t pid, bool publishes, std::uint64_t now_ns);

    static constexpr std::uint64_t first_pause_ns = 1'000'000'000;
    static constexpr std::uint64_t longest_pause_ns = 600'000'000'000;

  private:
    struct Look {
        std::uint64_t next_ns = 0, pause_ns = 0;
    };
    std::map<std::uint32_t, Look> without_;  // processes that publish nothing
};

}  // namespace lagtrap::daemon
