#include "daemon/capture/capture_move.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace lagtrap::daemon::capture_move_test {
namespace {

namespace fs = std::filesystem;

fs::path make_folder(const fs::path& parent) {
    std::string pattern = parent / "lagtrap-move-XXXXXX";
    return ::mkdtemp(pattern.data()) != nullptr ? fs::path(pattern) : fs::path();
}

std::string content_of(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

// In memory, which is another file system than that of temporary files on most machines.
class CaptureMove : public testing::Test {
  protected:
    CaptureMove()
        : memory_(make_folder("/dev/shm")), disk_(make_folder(fs::temp_directory_path())) {
        fs::create_directories(memory_ / "a" / "code");
        std::ofstream(memory_ / "a" / "session.json") << "session";
        std::ofstream(memory_ / "a" / "code" / "piece") << "code";
    }
    ~CaptureMove() override {
        fs::remove_all(memory_);
        fs::remove_all(disk_);
    }
    const fs::path memory_, disk_;
};

TEST_F(CaptureMove, TakesEverythingAlong) {
    ASSERT_TRUE(move_capture(memory_ / "a", disk_ / "a").ok());
    EXPECT_EQ(content_of(disk_ / "a" / "session.json"), "session");
    EXPECT_EQ(content_of(disk_ / "a" / "code" / "piece"), "code");
    EXPECT_FALSE(fs::exists(memory_ / "a"));
}

TEST_F(CaptureMove, LeavesNoPartOfACapture) {
    fs::create_directory(disk_ / "a");
    std::ofstream(disk_ / "a" / "code") << "a file where a folder should be";
    EXPECT_FALSE(move_capture(memory_ / "a", disk_ / "a").ok());
    EXPECT_FALSE(fs::exists(disk_ / "a" / "session.json"))
        << "or it would be taken for a complete capture";
}

}  // namespace
}  // namespace lagtrap::daemon::capture_move_test
