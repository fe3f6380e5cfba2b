#include "daemon/processes/mount_table.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::mount_table_test {
namespace {

constexpr const char* machine =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "25 22 0:21 / /proc rw,nosuid - proc proc rw\n"
    "30 22 0:40 / /remote rw,relatime - nfs4 server:/ rw\n"
    "31 22 0:41 / /media/joe/with\\040blank rw,nosuid - fuse.sshfs joe@host: rw\n"
    "32 22 8:2 / /data rw,nosuid,nodev - xfs /dev/sda2 rw\n"
    "33 32 0:42 / /data/covered rw - fuse some rw\n"
    "34 32 0:43 / /data/covered rw - tmpfs tmpfs rw\n"
    "no line at all\n";

TEST(MountTable, TellsWhatLiesOnThisMachine) {
    const auto table = MountTable::parse(machine);
    EXPECT_TRUE(table.by_id(22)->local);
    EXPECT_FALSE(table.by_id(30)->local);
    EXPECT_FALSE(table.by_id(31)->local);
    EXPECT_TRUE(table.by_id(32)->local);
    EXPECT_EQ(table.by_id(99), nullptr);
    EXPECT_EQ(table.by_device(std::uint64_t{8} << 32 | 2)->point, "/data");
    EXPECT_EQ(table.by_device(7), nullptr);
}

TEST(MountTable, FindsTheMountOfAPathByItsNameAlone) {
    const auto table = MountTable::parse(machine);
    EXPECT_EQ(table.holding("/usr/lib/libc.so.6")->id, 22U);
    EXPECT_EQ(table.holding("/remote/program")->id, 30U);
    EXPECT_EQ(table.holding("/remoteness/program")->id, 22U);
    EXPECT_EQ(table.holding("/media/joe/with blank/a")->id, 31U);
    EXPECT_EQ(table.holding("/data/covered/a")->id, 34U);  // the later mount covers the other
}

TEST(MountTable, WhereSetUidDoesNotCountAFilesOwnerIsNotBelieved) {
    const auto table = MountTable::parse(machine);
    EXPECT_TRUE(table.by_id(22)->set_uid_counts);
    EXPECT_FALSE(table.by_id(32)->set_uid_counts);
}

TEST(MountTable, AnOverlayIsLocalIfItsLayersAre) {
    const auto own = MountTable::parse(machine);
    const auto overlay = [&](const std::string& options) {
        const auto table =
            MountTable::parse("50 1 0:50 / / rw - overlay overlay " + options + "\n", &own);
        return table.by_id(50)->local;
    };
    EXPECT_TRUE(overlay("rw,lowerdir=/data/a:/data/b,upperdir=/data/c,workdir=/data/d"));
    EXPECT_FALSE(overlay("rw,lowerdir=/data/a:/remote/b,upperdir=/data/c"));
    EXPECT_FALSE(overlay("rw,lowerdir=/data/a,upperdir=/remote/c"));
    EXPECT_FALSE(overlay("rw,lowerdir+=/data/a,lowerdir+=/remote/b"));
    // by names that only its creator can resolve
    EXPECT_TRUE(overlay("rw,lowerdir=l/ABC:l/DEF,upperdir=u"));
}

// An overlay of a rootless container, whose layers exist only in its own namespace.
TEST(MountTable, LayersAreLookedUpInTheMountsOfWhoMadeTheOverlay) {
    const auto own = MountTable::parse(machine);
    const std::string layers = " - overlay overlay rw,lowerdir=/srv/layer:/data/a\n";
    const auto is_local = [&](const std::string& mounts) {
        return MountTable::parse("49 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts +
                                     "50 49 0:50 / /top rw" + layers,
                                 &own)
            .by_id(50)
            ->local;
    };
    EXPECT_TRUE(is_local(""));
    EXPECT_FALSE(is_local("51 49 0:51 / /srv rw - fuse some rw\n"));
    EXPECT_TRUE(is_local("51 49 0:51 / /srv rw - squashfs some rw\n"));
    // An overlay of overlays, in any order.
    EXPECT_FALSE(
        is_local("51 49 0:51 / /srv rw - overlay overlay rw,lowerdir=/srv/below/a\n"
                 "52 51 0:52 / /srv/below rw - fuse some rw\n"));
    // The machine mounted it, so its paths are the machine's, whatever the container has there.
    const auto with_overlay =
        MountTable::parse(std::string(machine) + "90 22 0:50 / /run/top rw" + layers);
    const auto container = MountTable::parse(
        "49 1 0:50 / / rw" + layers + "51 49 0:51 / /srv rw - nfs server:/ rw\n", &with_overlay);
    EXPECT_TRUE(container.by_id(49)->local);
    EXPECT_FALSE(container.by_id(51)->local);
}

TEST(MountTable, AnOverlayThatNamesItselfEnds) {
    const auto table = MountTable::parse(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:50 / /a rw - overlay overlay rw,lowerdir=/b/x\n"
        "3 1 0:51 / /b rw - overlay overlay rw,lowerdir=/a/x\n");
    EXPECT_TRUE(table.by_id(2)->local);
}

TEST(MountTable, WhatTheMachineRunsFromCountsAsLocal) {
    const auto own = MountTable::parse(
        "1 0 0:9 / / rw - nfs server:/root rw\n2 1 0:10 / /home rw - nfs server:/home rw\n");
    EXPECT_TRUE(own.by_id(1)->local);
    EXPECT_FALSE(own.by_id(2)->local);
    const auto container = MountTable::parse("7 0 0:9 /c / rw - nfs server:/root rw\n", &own);
    EXPECT_TRUE(container.by_id(7)->local);
}

TEST(MountTable, SaysWhereALookMayTakeLong) {
    EXPECT_FALSE(MountTable::parse(machine).answers_to_a_look());
    EXPECT_TRUE(
        MountTable::parse("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:4 / /f rw - fuse x rw\n")
            .answers_to_a_look());
}

}  // namespace
}  // namespace lagtrap::daemon::mount_table_test
