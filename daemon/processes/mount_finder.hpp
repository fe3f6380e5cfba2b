// Finds the mount of a descriptor from what the kernel reports about the descriptor. A descriptor
// keeps its mount alive, so the mount's number cannot be reused meanwhile. Does not access any file
// system. Use it on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/mount_table.hpp"

namespace lagtrap::daemon {

class MountFinder {
  public:
    MountFinder();

    // Closes descriptors and drops results that are valid only while these are open. Call it after
    // each request.
    void end_request() { of_request_.clear(); }

    // The mount of `fd` (O_PATH is enough), which is in the view of `process` ("/proc/PID"; it may
    // be gone). If the mount was removed, another mount of the same file system. NotFound if there
    // is none.
    [[nodiscard]] Result<Mount> mount_of(int fd, const std::filesystem::path& process);

    // Success if the mount is local. Otherwise ErrorKind::Unsupported with a text for people.
    [[nodiscard]] Status check_local(int fd, const std::filesystem::path& process);

    // If just finding a file (O_PATH) would ask a server: the type of that file system; otherwise
    // empty. `device` returns the file's device; it is called only if such a file system is
    // mounted. Call it before opening the file. It may miss a mount made within the last second.
    [[nodiscard]] std::string server_behind(const std::filesystem::path& process,
                                            const std::function<std::uint64_t()>& device);
    [[nodiscard]] static Error not_local(std::string_view type);

  private:
    using Clock = std::chrono::steady_clock;
    using Table = std::shared_ptr<const MountTable>;
    struct KnownTable {
        Table table;
        Clock::time_point read_at;
    };
    struct PinnedMount {
        Mount mount;
        UniqueFd pin;  // keeps its number from being reused
    };
    // nullptr if the process is gone.
    [[nodiscard]] Table table_of(const std::filesystem::path& process, Clock::duration age_limit);
    [[nodiscard]] Result<Mount> look_up(int fd, std::uint64_t id,
                                        const std::filesystem::path& process);

    std::set<std::uint64_t> memory_devices_;       // devices of memfd_create()
    std::map<std::uint64_t, Mount> by_unique_id_;  // by a number that the kernel never reuses
    // by mount id, for kernels without unique ids
    std::map<std::uint64_t, PinnedMount> of_request_;
    std::map<std::string, KnownTable> tables_;  // by name of the mount namespace
};

// Device number as in lagtrap_mapping::device.
[[nodiscard]] constexpr std::uint64_t device_number(std::uint32_t major_number,
                                                    std::uint32_t minor_number) {
    return std::uint64_t{major_number} << 32 | minor_number;
}

}  // namespace lagtrap::daemon
