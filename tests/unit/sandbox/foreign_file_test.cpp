#include "sandbox/foreign_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::foreign_file_test {
namespace {

class ForeignFile : public ::testing::Test {
  protected:
    void SetUp() override {
        folder_ =
            std::filesystem::path(::testing::TempDir()) / ("foreign-" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder_);
        std::ofstream(folder_ / "plain") << "plain";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }
    std::filesystem::path folder_;
};

TEST_F(ForeignFile, OpensAPlainFileByEachOfItsNames) {
    const auto self = std::filesystem::path("/proc") / std::to_string(::getpid());
    for (const auto& path :
         {folder_ / "plain", self / "root" / (folder_ / "plain").relative_path(), self / "exe"})
        EXPECT_TRUE(open_regular_file(path)) << path;
    const auto open = open_regular_file(folder_ / "plain");
    ASSERT_TRUE(open);
    EXPECT_EQ(*read_all(open_regular_file(path_of_descriptor(open->get()))->get(), 100), "plain");
}

// Without the check beforehand, opening the pipe for reading would wait forever for a writer.
TEST_F(ForeignFile, TakesNoPipeNoDeviceAndNoFolder) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0666), 0);
    for (const std::filesystem::path& path :
         {folder_ / "pipe", std::filesystem::path("/dev/zero"), folder_}) {
        const auto opened = open_regular_file(path);
        ASSERT_FALSE(opened) << path;
        EXPECT_EQ(opened.error().kind, ErrorKind::Denied) << path;
    }
}

TEST_F(ForeignFile, ReadsNoLinkAndNoPipe) {
    std::filesystem::create_symlink(folder_ / "plain", folder_ / "link");
    ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0666), 0);
    EXPECT_EQ(*read_regular_file(folder_ / "plain", 100), "plain");
    EXPECT_FALSE(read_regular_file(folder_ / "link", 100));
    EXPECT_FALSE(read_regular_file(folder_ / "fifo", 100));
    EXPECT_EQ(read_regular_file(folder_ / "plain", 2).error().kind, ErrorKind::TooLarge);
}

TEST_F(ForeignFile, FollowsNoMagicLinkOnTheWay) {
    std::filesystem::create_symlink("/proc/self/cwd", folder_ / "magic");
    std::filesystem::create_symlink("/proc/self/exe", folder_ / "program");
    EXPECT_FALSE(open_regular_file(folder_ / "magic" / "plain"));
    EXPECT_FALSE(open_regular_file(folder_ / "program"));
}

TEST_F(ForeignFile, FollowsLinksUnlessTheyAreRefused) {
    std::filesystem::create_symlink("plain", folder_ / "link");
    EXPECT_TRUE(open_regular_file(folder_ / "link"));
    EXPECT_FALSE(open_regular_file(folder_ / "link", Links::Refused));
    EXPECT_TRUE(open_regular_file(folder_ / "plain", Links::Refused));
    const auto self = std::filesystem::path("/proc") / std::to_string(::getpid());
    const auto below = self / "root" / (folder_ / "link").relative_path();
    EXPECT_TRUE(open_regular_file(below));
    EXPECT_FALSE(open_regular_file(below, Links::Refused));
    const auto place = open_place(folder_);
    ASSERT_TRUE(place) << "a folder has a place";
    EXPECT_EQ(open_place(folder_ / "absent").error().kind, ErrorKind::NotFound);
}

TEST_F(ForeignFile, OpensWhatIsBelowAFolderThatAProcessHasOpen) {
    const UniqueFd open(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto held = std::filesystem::path("/proc/self/fd") / std::to_string(open.get());
    EXPECT_EQ(*read_all(open_regular_file(held / "plain")->get(), 100), "plain");
    EXPECT_EQ(*read_all(open_regular_file(held / ".." / "plain")->get(), 100), "plain")
        << "the folder is the root";
    EXPECT_FALSE(open_regular_file(held / "absent"));
    const auto cwd = std::filesystem::path("/proc/self/cwd/plain");
    EXPECT_FALSE(open_regular_file(cwd)) << "another link of a process";
    EXPECT_FALSE(open_regular_file("/proc/self/exe/x"));
}

TEST_F(ForeignFile, SaysWhatItIsInstead) {
    const auto problem = [](const std::filesystem::path& path) {
        return open_regular_file(path).error().message;
    };
    EXPECT_EQ(problem(folder_), folder_.string() + ": is a folder");
    EXPECT_EQ(problem("/dev/zero"), "/dev/zero: is not a regular file");
    EXPECT_EQ(read_regular_file("/dev/zero", 9).error().message,
              "/dev/zero: is not a regular file");
    EXPECT_EQ(read_regular_file(folder_ / "plain", 4).error().message,
              (folder_ / "plain").string() + ": larger than 4 bytes");
    EXPECT_EQ(*read_regular_file(folder_ / "plain", 5), "plain");
    const auto opened = open_regular_file(folder_ / "plain");
    EXPECT_EQ(::fcntl(opened->get(), F_GETFD), FD_CLOEXEC);
    EXPECT_EQ(::fcntl(opened->get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

}  // namespace
}  // namespace lagtrap::foreign_file_test
