#include "trace/logs/awaited_file.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::awaited_file_test {
namespace {

TEST(AwaitedFile, IsReadWhileTheMergeWaits) {
    const TemporaryDirectory folder;
    EXPECT_FALSE(read_awaited_file(folder.path()));
    auto note = AwaitedFileNote::create(folder.path());
    ASSERT_TRUE(note) << note.error().message;
    EXPECT_FALSE(read_awaited_file(folder.path()));
    note->set("/proc/17/map_files/a b\x1b", 1000);
    const auto awaited = read_awaited_file(folder.path());
    ASSERT_TRUE(awaited);
    EXPECT_EQ(awaited->path, "/proc/17/map_files/a b\\x1b");
    EXPECT_EQ(awaited->uid, 1000U);
    note->set("/x", std::nullopt);
    EXPECT_EQ(read_awaited_file(folder.path())->path, "/x");
    EXPECT_EQ(read_awaited_file(folder.path())->uid, std::nullopt);
    note->set("/" + std::string(10'000, 'x'), 1);
    EXPECT_EQ(read_awaited_file(folder.path())->path.size(), 4093U);
    note->clear();
    EXPECT_FALSE(read_awaited_file(folder.path()));
}

TEST(AwaitedFile, OfAnOddNoteThereIsNone) {
    const TemporaryDirectory folder;
    for (const char* text : {"", "1000", "x"}) {
        std::ofstream(folder.path() / "awaited-file") << text;
        EXPECT_FALSE(read_awaited_file(folder.path())) << text;
    }
    std::ofstream(folder.path() / "awaited-file") << "-1 /x";
    EXPECT_EQ(read_awaited_file(folder.path())->uid, std::nullopt);
}

}  // namespace
}  // namespace lagtrap::trace::awaited_file_test
