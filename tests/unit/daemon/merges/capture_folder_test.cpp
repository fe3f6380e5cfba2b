#include "daemon/merges/capture_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::capture_folder_test {
namespace {

namespace fs = std::filesystem;

class CaptureFolder : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ = fs::path(::testing::TempDir()) / ("capture-folder-" + std::to_string(::getpid()));
        capture_ = folder_ / "id";
        fs::create_directories(capture_ / "code");
        std::ofstream(capture_ / "user.log") << "log";
        std::ofstream(capture_ / "code" / "7-1.map") << "map";
    }
    void TearDown() override { fs::remove_all(folder_); }
    std::size_t entries() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }

    fs::path folder_;
    fs::path capture_;
};

TEST_F(CaptureFolder, IsTakenFromWhoHoldsIt) {
    ASSERT_EQ(::chmod(capture_.c_str(), 0750), 0);
    const auto held = open_file(capture_, O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(held);
    ASSERT_EQ(::flock(held->get(), LOCK_EX), 0);
    const Status renewed = renew_folder(capture_);
    ASSERT_TRUE(renewed) << renewed.error().message;
    const auto fresh = open_file(capture_, O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(fresh);
    EXPECT_EQ(::flock(fresh->get(), LOCK_EX | LOCK_NB), 0);
    EXPECT_EQ(*read_file(capture_ / "user.log", 100), "log");
    EXPECT_EQ(*read_file(capture_ / "code" / "7-1.map", 100), "map");
    EXPECT_EQ(bytes_below(capture_), 6U);
    EXPECT_LT(::openat(held->get(), "user.log", O_RDONLY), 0)
        << "the old folder has the file still";
    struct stat facts {};
    ASSERT_EQ(::stat(capture_.c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0750U);
    EXPECT_EQ(entries(), 1U);
}

TEST_F(CaptureFolder, IsRenewedOverWhatAKilledDaemonLeft) {
    fs::create_directories(folder_ / ".id.renewed" / "code");
    EXPECT_TRUE(is_leftover(".id.renewed"));
    EXPECT_TRUE(renew_folder(capture_));
    EXPECT_EQ(entries(), 1U);
    EXPECT_FALSE(renew_folder(folder_ / "no-such"));
    EXPECT_EQ(entries(), 1U);
}

TEST_F(CaptureFolder, IsSetAsideWithItsReason) {
    EXPECT_EQ(reason_set_aside(capture_), std::nullopt);
    ASSERT_TRUE(set_aside(capture_, "took\x1b[2J too long\n" + std::string(10'000, 'x')));
    const auto reason = reason_set_aside(capture_);
    ASSERT_TRUE(reason);
    EXPECT_TRUE(reason->starts_with("took\\x1b[2J too long")) << *reason;
    EXPECT_LT(reason->size(), 4096U);
    fs::remove(capture_ / "set-aside.txt");
    EXPECT_EQ(reason_set_aside(capture_), std::nullopt);
}

TEST_F(CaptureFolder, IsRemovedAsAWhole) {
    EXPECT_TRUE(is_leftover(".id.done"));
    EXPECT_FALSE(is_leftover("id"));
    ASSERT_TRUE(remove_capture(capture_));
    EXPECT_EQ(entries(), 0U);
    EXPECT_FALSE(remove_capture(capture_));
}

}  // namespace
}  // namespace lagtrap::daemon::capture_folder_test
