#include "daemon/probes/watched_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::watched_file_test {
namespace {

namespace fs = std::filesystem;

class WatchedFileOfSomebody : public testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        std::ofstream(path_) << "program";
    }
    void TearDown() override { fs::remove_all(folder_); }
    [[nodiscard]] std::shared_ptr<const WatchedFile> open() const {
        auto file = WatchedFile::open(path_);
        EXPECT_TRUE(file);
        return file ? *file : nullptr;
    }

    fs::path folder_ =
        fs::path(testing::TempDir()) / ("watched-file-" + std::to_string(::getpid()));
    fs::path path_ = folder_ / "program";
};

TEST_F(WatchedFileOfSomebody, IsWhatWasOpenedWhateverLiesUnderItsName) {
    const auto file = open();
    std::ofstream(folder_ / "other") << "something else";
    fs::rename(folder_ / "other", path_);
    std::ifstream found(file->descriptor_path());
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(found), {}), "program");
    EXPECT_FALSE(FileIdentity::at(path_)->same_file(file->identity()));
}

TEST_F(WatchedFileOfSomebody, IsUnchangedUntilItIsWrittenTo) {
    const auto file = open();
    EXPECT_TRUE(file->unchanged());
    std::ofstream(path_, std::ios::app) << "!";
    EXPECT_FALSE(file->unchanged());
}

TEST_F(WatchedFileOfSomebody, IsChangedThoughItsTimesAreSetBack) {
    const auto file = open();
    std::ofstream(path_) << "PROGRAM";
    const timespec times[2] = {{0, UTIME_OMIT},
                               {file->identity().modified_s, file->identity().modified_ns}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
    ASSERT_EQ(*FileIdentity::at(path_), file->identity());
    // File times come from a coarse clock; until it ticks, the two times are equal.
    while (file->unchanged()) ASSERT_EQ(::chmod(path_.c_str(), 0644), 0);
    SUCCEED();
}

TEST_F(WatchedFileOfSomebody, IsNoPipe) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_FALSE(WatchedFile::open(folder_ / "pipe"));
}

}  // namespace
}  // namespace lagtrap::daemon::watched_file_test
