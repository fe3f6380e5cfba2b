#include "daemon/processes/code_file_copier.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::daemon::code_file_copier_test {
namespace {

class CodeFileCopierTest : public testing::Test {
  protected:
    void write(const std::string& content) const {
        std::ofstream(folder_.path() / "perf-7.map") << content;
    }
    [[nodiscard]] Result<OpenedCodeFile> open(const std::string& name) {
        const UniqueFd place = open_file(folder_.path(), O_PATH | O_DIRECTORY).value();
        return copier_.open_code_file({}, place.get(), name);
    }
    // What was copied, as far as it is the beginning of the file's content.
    std::string copied(const std::string& content, std::uint64_t limit_bytes) {
        write(content);
        const UniqueFd from = open_file(folder_.path() / "perf-7.map", O_RDONLY).value();
        const UniqueFd to(
            ::open((folder_.path() / "copy").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600));
        const auto bytes = copier_.copy({}, from.get(), to.get(), limit_bytes);
        if (!bytes) return bytes.error().message;
        const std::string copy = read_file(folder_.path() / "copy", 1 << 24).value();
        EXPECT_EQ(*bytes, copy.size());
        return copy;
    }

    trace::TemporaryDirectory folder_;
    DirectCodeFileCopier copier_;
};

TEST_F(CodeFileCopierTest, CopiesUpToTheLimit) {
    EXPECT_EQ(copied("0123456789", 4), "0123");
    EXPECT_EQ(copied("0123456789", 9), "012345678");
    EXPECT_EQ(copied("0123456789", 10), "0123456789");
    EXPECT_EQ(copied("0123456789", 100), "0123456789");
    EXPECT_EQ(copied("0123456789", 0), "");
    EXPECT_EQ(copied("", 10), "");
    std::string large(3 << 20, 'x');
    large[(1 << 20) + 5] = 'y';
    EXPECT_EQ(copied(large, (2 << 20) + 1), large.substr(0, (2 << 20) + 1)) << "in several pieces";
    EXPECT_FALSE(copier_.copy({}, -1, -1, 10));
}

TEST_F(CodeFileCopierTest, OpensAFileWithWhatIsKnownOfIt) {
    write("0123456789");
    const timespec times[2] = {{5, 0}, {1'000, 7}};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_.path() / "perf-7.map").c_str(), times, 0), 0);
    const auto opened = open("perf-7.map");
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->size_bytes, 10U);
    EXPECT_EQ(opened->uid, ::geteuid());
    EXPECT_EQ(opened->written_realtime_ns, 1'000'000'000'007);
    const auto again = copier_.open_code_file({}, opened->file.get(), "");
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->size_bytes, 10U);
    EXPECT_EQ(open("missing").error().kind, ErrorKind::NotFound);
    EXPECT_EQ(open("").error().kind, ErrorKind::Denied) << "the folder itself";
}

TEST_F(CodeFileCopierTest, DoesNotFollowAProcessThatIsGone) {
    EXPECT_FALSE(copier_.follow(0x7fffffff));
}

}  // namespace
}  // namespace lagtrap::daemon::code_file_copier_test
