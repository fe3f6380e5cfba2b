#include "daemon/processes/kept_roots.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "daemon/processes/inspector_pool.hpp"

namespace lagtrap::daemon::kept_roots_test {
namespace {

TEST(RootAge, IsAskedForAgainWhereItMayHaveBecomeAnother) {
    RootAge age;
    EXPECT_TRUE(age.is_due(7, "/bin/sh"));
    EXPECT_TRUE(age.is_due(8, "/bin/sh")) << "it has a view of its own";
    EXPECT_TRUE(age.is_due(8, "/opt/server"))
        << "what makes a container begins its program when the root folder is there";
    int due = 0;
    for (int look = 0; look < 1'000; ++look) due += age.is_due(8, "/opt/server") ? 1 : 0;
    EXPECT_EQ(due, 9) << "a process that stays as it is is asked for less and less often";
}

// Roots of a process that appears to be in its own mount namespace, by a /proc made of files. Opens
// nothing in it.
class Roots : public DirectInspector {
  public:
    Result<UniqueFd> open_root(std::uint32_t pid) override {
        asked = pid;
        if (first == 0) first = pid;
        while (waits && !given_up()) std::this_thread::yield();
        if (waits) return make_error(ErrorKind::Timeout, "it does not answer");
        return open_file("/", O_PATH | O_DIRECTORY);
    }
    std::function<bool()> given_up;
    std::atomic<bool> waits{false};
    std::atomic<std::uint32_t> asked{0}, first{0};
};

class KeptRootsTest : public testing::Test {
  protected:
    KeptRootsTest()
        : proc_(std::filesystem::path(testing::TempDir()) /
                ("kept-roots-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(proc_ / "77/ns");
        std::ofstream(proc_ / "77/ns/mnt");
    }
    ~KeptRootsTest() override { std::filesystem::remove_all(proc_); }
    std::filesystem::path proc_;
};

TEST_F(KeptRootsTest, WhatHelpersOpenIsHeld) {
    Roots inspector;
    KeptRoots roots(inspector, 0, proc_);
    roots.finish();
    EXPECT_EQ(inspector.asked, 77U);
    ASSERT_TRUE(roots.held().descriptors.contains(77));
    EXPECT_EQ(roots.held().holder, ::getpid());
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path("/proc/self/fd") /
                                        std::to_string(roots.held().descriptors.at(77)) / "proc"));
}

TEST_F(KeptRootsTest, WhatIsGoneRightAfterTheFirstLookIsHeld) {
    Roots inspector;
    KeptRoots roots(inspector, 0, proc_);
    while (inspector.asked == 0) roots.await_first_look();
    std::filesystem::remove_all(proc_ / "77");
    roots.finish();
    EXPECT_TRUE(roots.held().descriptors.contains(77));
}

TEST_F(KeptRootsTest, TheProcessThatIsRecordedForComesFirst) {
    std::filesystem::create_directories(proc_ / "99/ns");
    std::ofstream(proc_ / "99/ns/mnt");
    Roots inspector;
    KeptRoots roots(inspector, 99, proc_);
    roots.finish();
    EXPECT_EQ(inspector.first, 99U);
    EXPECT_TRUE(roots.held().descriptors.contains(77));
}

TEST_F(KeptRootsTest, ARootFolderThatDoesNotAnswerIsNotWaitedFor) {
    Roots inspector;
    inspector.waits = true;
    inspector.given_up = [] { return inspections_are_cancelled(); };
    KeptRoots roots(inspector, 0, proc_);
    while (inspector.asked == 0) std::this_thread::yield();
    roots.finish();
    EXPECT_TRUE(roots.held().descriptors.empty());
}

TEST_F(KeptRootsTest, ViewsWithoutRoomAreCounted) {
    for (std::size_t i = 1; i < KeptRoots::roots_limit + 3; ++i) {
        const auto process = proc_ / std::to_string(1'000 + i);
        std::filesystem::create_directories(process / "ns");
        std::ofstream(process / "ns/mnt");
    }
    Roots inspector;
    KeptRoots roots(inspector, 0, proc_);
    roots.finish();
    EXPECT_EQ(roots.held().descriptors.size(), KeptRoots::roots_limit);
    EXPECT_EQ(roots.left_out(), 3U);
}

TEST_F(KeptRootsTest, ProcessesOfTheMachinesViewNeedNoRoot) {
    std::filesystem::create_directories(proc_ / "78/ns");
    std::filesystem::create_symlink("/proc/self/ns/mnt", proc_ / "78/ns/mnt");
    std::filesystem::create_directories(proc_ / "79");
    Roots inspector;
    KeptRoots roots(inspector, 0, proc_);
    roots.finish();
    EXPECT_EQ(roots.held().descriptors.size(), 1U);
    EXPECT_EQ(inspector.first, 77U);
    EXPECT_EQ(inspector.asked, 77U);
    EXPECT_EQ(roots.left_out(), 0U);
}

}  // namespace
}  // namespace lagtrap::daemon::kept_roots_test
