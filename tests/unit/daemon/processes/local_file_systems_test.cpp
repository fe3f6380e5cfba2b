#include "daemon/processes/local_file_systems.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::local_file_systems_test {
namespace {

TEST(LocalFileSystems, AreThoseThatAnswerWithoutAnotherMachineOrProcess) {
    for (const std::string type :
         {"bcachefs", "btrfs",     "devtmpfs", "erofs", "exfat",  "ext2",  "ext3",  "ext4",
          "f2fs",     "hugetlbfs", "iso9660",  "jfs",   "nilfs2", "ntfs3", "ramfs", "rootfs",
          "tmpfs",    "reiserfs",  "squashfs", "udf",   "vfat",   "xfs",   "zfs"})
        EXPECT_TRUE(is_local_file_system(type)) << type;
    for (const std::string type : {"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs", "fuse",
                                   "fuse.sshfs", "fuseblk", "overlay", "autofs", "", "ext"})
        EXPECT_FALSE(is_local_file_system(type)) << type;
}

}  // namespace
}  // namespace lagtrap::daemon::local_file_systems_test
