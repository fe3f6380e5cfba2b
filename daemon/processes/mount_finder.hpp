// Says which mount a descriptor lies on, by what the kernel tells of that descriptor: a descriptor keeps its mount, so what is
// read of it afterwards is of no other that had its number before. Asks no file system. For one thread.
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

    // Forgets what holds only while descriptors are open, and closes these. Call it when a request has been answered.
    void end_request() { of_request_.clear(); }

    // Of `fd` (O_PATH will do), which `process` ("/proc/PID", be it gone) has in its view. Where the mount was taken away, it is
    // another of the same file system. NotFound: there is none.
    [[nodiscard]] Result<Mount> mount_of(int fd, const std::filesystem::path& process);

    // Success if that mount is local. Else ErrorKind::Unsupported, with a text for people.
    [[nodiscard]] Status check_local(int fd, const std::filesystem::path& process);

    // The type of a file system whose server would be asked already by looking where a file lies (O_PATH); empty: it would not.
    // `device` says where the file lies, and is called only if there is such a file system. To be asked before there is a
    // descriptor, so a mount made within the last second may be missing.
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
        UniqueFd pin;  // so that its number is not given to another
    };
    // nullptr: the process is gone.
    [[nodiscard]] Table table_of(const std::filesystem::path& process, Clock::duration age_limit);
    [[nodiscard]] Result<Mount> look_up(int fd, std::uint64_t id, const std::filesystem::path& process);

    std::set<std::uint64_t> memory_devices_;           // of what memfd_create() makes
    std::map<std::uint64_t, Mount> by_unique_id_;      // a number that the kernel gives only once
    std::map<std::uint64_t, PinnedMount> of_request_;  // by number, where the kernel has no other
    std::map<std::string, KnownTable> tables_;         // by the name of their namespace
};

// As lagtrap_mapping::device has it.
[[nodiscard]] constexpr std::uint64_t device_number(std::uint32_t major_number, std::uint32_t minor_number) {
    return std::uint64_t{major_number} << 32 | minor_number;
}

}  // namespace lagtrap::daemon
