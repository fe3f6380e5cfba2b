// How much memory the group of processes may use that this process is in (a unit of systemd is one), and how much it does.
// Limits and figures: Documentation/admin-guide/cgroup-v2.rst ("Memory"), cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace lagtrap::daemon {

struct MemoryUse {
    std::uint64_t limit_bytes = 0;
    // Without pages of files, which the kernel takes back by itself; with that of BPF maps.
    std::uint64_t used_bytes = 0;
    [[nodiscard]] std::uint64_t room_bytes() const { return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0; }
};

class MemoryGroup {
  public:
    // `memberships` is the text of /proc/self/cgroup, `root` where groups are mounted. nullopt: there are no memory groups.
    [[nodiscard]] static std::optional<MemoryGroup> find(std::string_view memberships,
                                                         const std::filesystem::path& root = "/sys/fs/cgroup");
    [[nodiscard]] static std::optional<MemoryGroup> of_this_process();

    // Of the group or one around it, whichever has the least room. nullopt: none has a limit.
    [[nodiscard]] std::optional<MemoryUse> use() const;
    // Processes of this group that the kernel has ended because the limit was reached, since the group was made.
    [[nodiscard]] std::uint64_t killed() const;

  private:
    // File names of one version of the interface, and where the counters of file pages are in its statistics.
    struct Names;
    [[nodiscard]] std::optional<MemoryUse> use_of(const std::filesystem::path& folder) const;

    const Names* names_ = nullptr;
    std::vector<std::filesystem::path> folders_;  // of the group, and of those around it
};

}  // namespace lagtrap::daemon
