// The file systems that are local to this machine. Network file systems and FUSE may never answer,
// and then a process that waits for them cannot be killed.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace lagtrap::daemon {

inline constexpr std::array<std::string_view, 23> local_file_systems{
    "bcachefs", "btrfs",     "devtmpfs", "erofs", "exfat",  "ext2",  "ext3",  "ext4",
    "f2fs",     "hugetlbfs", "iso9660",  "jfs",   "nilfs2", "ntfs3", "ramfs", "rootfs",
    "tmpfs",    "reiserfs",  "squashfs", "udf",   "vfat",   "xfs",   "zfs"};

// `type` is as in /proc/PID/mountinfo. An overlay is local if its layers are (mount_table.hpp).
[[nodiscard]] constexpr bool is_local_file_system(std::string_view type) {
    return std::find(local_file_systems.begin(), local_file_systems.end(), type) !=
           local_file_systems.end();
}

}  // namespace lagtrap::daemon
