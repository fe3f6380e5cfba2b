#include "daemon/events/watched_path.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::watched_path_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t root_device = 1, disk = 2;

FileIdentity file(std::uint64_t inode, std::int64_t modified_s = 1) {
    return {root_device, inode, 4096, modified_s, 0};
}

PathTarget target(std::optional<FileIdentity> seen) {
    return {seen, true, "/usr/bin/shop", root_device};
}

const PathTarget nothing{std::nullopt, false, "", root_device};

class WatchedPathTest : public testing::Test {
  protected:
    WatchedPathTest() { path_.note_opened(nullptr, file(7)); }
    [[nodiscard]] bool changed(const PathTarget& target, WatchedPath::Use use = {},
                               bool follows = false) {
        return path_.has_changed(target, follows, use);
    }
    WatchedPath path_;
};

TEST(IsFollowedTest, AFileIsFollowedIfNothingIsThereOrItsDiskMayBeUnmounted) {
    EXPECT_TRUE(is_followed("/usr/bin/shop", nothing));
    EXPECT_FALSE(is_followed("/usr/bin/shop", target(file(7))));
    PathTarget elsewhere = target(file(7));
    elsewhere.seen->device = disk;
    EXPECT_TRUE(is_followed("/mnt/shop", elsewhere));
    EXPECT_FALSE(is_followed("/mnt/renamed", elsewhere)) << "processes would not be found";
    elsewhere.regular = false;
    EXPECT_FALSE(is_followed("/mnt/shop", elsewhere));
}

TEST_F(WatchedPathTest, TheSameFileHasNotChanged) { EXPECT_FALSE(changed(target(file(7)))); }

TEST_F(WatchedPathTest, AReplacedOrRewrittenFileHasChanged) {
    EXPECT_TRUE(changed(target(file(8))));
    EXPECT_TRUE(changed(target(file(7, 2))));
}

TEST_F(WatchedPathTest, OtherTimesOfALeasedFileAreNoChange) {
    EXPECT_FALSE(changed(target(file(7, 2)), {false, false, true}));
    EXPECT_FALSE(changed(target(file(7, 2))));
    EXPECT_TRUE(changed(target(file(8)), {false, false, true}));
}

TEST_F(WatchedPathTest, AFileThatIsWrittenHasChangedEvenIfItLooksTheSame) {
    EXPECT_TRUE(changed(target(file(7)), {false, true, false}));
}

TEST_F(WatchedPathTest, AFileThatIsGoneIsWatchedAsLongAsNothingReplacesIt) {
    EXPECT_FALSE(changed(nothing));
    EXPECT_FALSE(changed(nothing, {false, true, false}));
    EXPECT_FALSE(changed(target(file(7))));
    EXPECT_TRUE(changed(target(file(8))));
}

TEST_F(WatchedPathTest, AFileThatIsGoneIsFollowedOnceNoProcessMapsIt) {
    EXPECT_FALSE(changed(nothing, {true, false, false}, true));
    EXPECT_TRUE(changed(nothing, {}, true));
}

TEST_F(WatchedPathTest, AFollowedFileIsOpenedWhenItNeedNotBeFollowed) {
    path_.note_followed(true, nothing);
    EXPECT_TRUE(path_.followed());
    EXPECT_FALSE(changed(nothing, {}, true));
    EXPECT_FALSE(changed(target(file(8)), {}, true));
    EXPECT_EQ(path_.leads_to(), "/usr/bin/shop");
    EXPECT_TRUE(changed(target(file(8)), {}, false));
}

TEST_F(WatchedPathTest, AFileThatChangesOftenIsRearmedAfterPauses) {
    const WatchedPath::Clock::time_point now{100h};
    path_.note_slow();
    EXPECT_EQ(path_.pause(now), 0s);
    path_.note_rearmed(now);
    EXPECT_EQ(path_.pause(now), RearmPauses::shortest);
    EXPECT_EQ(path_.rearmed(), 1U);
    EXPECT_FALSE(path_.slow());
}

}  // namespace
}  // namespace lagtrap::daemon::watched_path_test
