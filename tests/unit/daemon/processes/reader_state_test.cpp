#include "daemon/processes/reader_state.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "binaries/reader/file_reader.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::daemon::reader_state_test {
namespace {

// Files are read by this reader while it lives.
class Used {
  public:
    explicit Used(const std::string& program)
        : reader({.program = program, .start_pause = {}, .longest_start_pause = {}}) {
        binaries::read_files_by(&reader);
    }
    ~Used() { binaries::read_files_by(nullptr); }
    Used(const Used&) = delete;
    Used& operator=(const Used&) = delete;

    binaries::FileReader reader;
};

TEST(ReaderState, FilesCanBeReadWithoutAReader) {
    EXPECT_TRUE(can_read_programs());
    restart_failed_reader();
}

TEST(ReaderState, AReaderThatCannotBeStartedReadsNothing) {
    const Used used("/nonexistent/lagtrap-reader");
    EXPECT_FALSE(can_read_programs());
    EXPECT_NE(used.reader.counts().start_problem, "");
}

TEST(ReaderState, AReaderIsStartedWhenItIsThere) {
    const std::filesystem::path program =
        testing::TempDir() + "reader-state-" + std::to_string(::getpid());
    const Used used(program.string());
    restart_failed_reader();
    EXPECT_EQ(used.reader.counts().start_problem, "") << "it was not wanted yet";
    EXPECT_FALSE(can_read_programs());
    std::filesystem::create_symlink(build_folder() + "/binaries/lagtrap-reader", program);
    restart_failed_reader();
    EXPECT_EQ(used.reader.counts().start_problem, "");
    EXPECT_TRUE(can_read_programs());
    std::filesystem::remove(program);
}

}  // namespace
}  // namespace lagtrap::daemon::reader_state_test
