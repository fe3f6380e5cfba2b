// Memory limit and memory use of the control group that this process belongs to, such as the group
// of a systemd unit. See Documentation/admin-guide/cgroup-v2.rst ("Memory") and
// cgroup-v1/memory.rst.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace lagtrap::daemon {

struct MemoryUse {
    std::uint64_t limit_bytes = 0;
    // Includes BPF maps. Excludes the page cache, which the kernel can reclaim.
    std::uint64_t used_bytes = 0;
    [[nodiscard]] std::uint64_t room_bytes() const {
        return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
    }
};

// What the memory of a group is used for.
struct MemoryFill {
    std::filesystem::path folder;
    // of the group, relative to the root group: "/system.slice/app.service"
    std::filesystem::path path;
    std::uint64_t limit_bytes = 0;
    std::uint64_t used_bytes = 0;  // the sum of the following and others
    std::uint64_t file_bytes = 0;  // page cache
    std::uint64_t anonymous_bytes = 0;
    std::uint64_t shared_bytes = 0;  // tmpfs and shared memory
    [[nodiscard]] std::uint64_t room_bytes() const {
        return limit_bytes > used_bytes ? limit_bytes - used_bytes : 0;
    }
};

class MemoryGroup {
  public:
    // `memberships` is the text of /proc/self/cgroup; `root` is where the groups are mounted.
    // nullopt if this process has no memory group.
    [[nodiscard]] static std::optional<MemoryGroup> find(
        std::string_view memberships, const std::filesystem::path& root = "/sys/fs/cgroup");
    [[nodiscard]] static std::optional<MemoryGroup> of_this_process();

    // Of this group or one of its ancestors, whichever has the least room left. nullopt if none of
    // them has a limit.
    [[nodiscard]] std::optional<MemoryUse> use() const;
    // The same, but counts the page cache as used.
    [[nodiscard]] std::optional<MemoryFill> fill() const;
    // Number of processes in this group that the OOM killer has ended since the group was created.
    [[nodiscard]] std::uint64_t killed() const;

  private:
    // The file names of one version of the interface, and the keys of the file page counters.
    struct Names;
    [[nodiscard]] std::optional<MemoryUse> use_of(const std::filesystem::path& folder) const;
    [[nodiscard]] std::optional<MemoryFill> fill_of(const std::filesystem::path& folder) const;

    const Names* names_ = nullptr;
    std::filesystem::path top_;                   // folder of the root group
    std::vector<std::filesystem::path> folders_;  // this group and its ancestors
};

}  // namespace lagtrap::daemon
