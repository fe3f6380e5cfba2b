#include "trace/perfetto/calls_file.hpp"

#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::calls_file_test {
namespace {

class CallsOfAProgram : public testing::Test {
  protected:
    [[nodiscard]] std::filesystem::path path() const { return folder_.path() / "calls.pftrace"; }
    [[nodiscard]] std::string content() const {
        const auto content = read_file(path(), 1 << 20);
        return content ? *content : "none";
    }
    [[nodiscard]] std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
    }

    TemporaryDirectory folder_;
};

TEST_F(CallsOfAProgram, AFinishedFileReplacesTheOlderOne) {
    ASSERT_TRUE(write_file_durably(path(), "older"));
    {
        auto file = CallsFile::create(path(), "calls");
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(content(), "older");
        ASSERT_TRUE(file->finish());
    }
    EXPECT_NE(content(), "older");
    EXPECT_EQ(files(), 1);
}

TEST_F(CallsOfAProgram, AnUnfinishedFileIsRemovedAndTheOlderOneStays) {
    ASSERT_TRUE(write_file_durably(path(), "older"));
    {
        const auto file = CallsFile::create(path(), "calls");
        ASSERT_TRUE(file) << file.error().message;
        EXPECT_EQ(files(), 2);
    }
    EXPECT_EQ(content(), "older");
    EXPECT_EQ(files(), 1);
}

TEST_F(CallsOfAProgram, AFileThatCannotBeCreatedIsAnError) {
    EXPECT_FALSE(CallsFile::create(folder_.path() / "missing" / "calls.pftrace", "calls").ok());
}

}  // namespace
}  // namespace lagtrap::trace::calls_file_test
