#include "daemon/unwinding/unwinder_status.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <sys/stat.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "tests/unit/daemon/spaces_fixture.hpp"

namespace lagtrap::daemon::unwinder_status_test {
namespace {

std::string c_library() {
    Dl_info found{};
    ::dladdr(reinterpret_cast<const void*>(&gnu_get_libc_version), &found);
    return found.dli_fname;
}

class NotedTables : public SpacesFixture {
  protected:
    NotedTables() { std::filesystem::create_directory(folder_); }
    ~NotedTables() override { std::filesystem::remove_all(folder_); }
    // Maps so many different files into process 1, and makes their tables.
    void map_files(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto path = folder_ / std::to_string(i);
            std::filesystem::copy_file(i % 2 == 0 ? "/usr/bin/true" : c_library(), path);
            struct stat facts {};
            ASSERT_EQ(::stat(path.c_str(), &facts), 0);
            map(1, (i + 1) * 0x1000000, (i + 1) * 0x1000000 + 0x100000, path.string(), 0,
                facts.st_ino);
        }
        publish();
        make_all();
        publish();
    }
    [[nodiscard]] UnwinderStatus status() const {
        UnwinderStatus noted;
        note_tables(modules, noted);
        return noted;
    }
    std::filesystem::path folder_ =
        testing::TempDir() + "lagtrap-noted-" + std::to_string(::getpid());
};

TEST_F(NotedTables, AreCountedWithTheirBytesTheLargestFirst) {
    map_files(3);
    const UnwinderStatus noted = status();
    EXPECT_EQ(noted.tables, 3U);
    EXPECT_EQ(noted.tables_without_room, 0U);
    EXPECT_EQ(noted.tables_kept, 0U);
    EXPECT_EQ(noted.kept_bytes, 0U);
    ASSERT_EQ(noted.largest.size(), 3U);
    std::uint64_t sum_bytes = 0;
    for (const auto& one : noted.largest) sum_bytes += one.bytes;
    EXPECT_EQ(noted.table_bytes, sum_bytes);
    EXPECT_GE(noted.largest[0].bytes, noted.largest[1].bytes);
    EXPECT_GE(noted.largest[1].bytes, noted.largest[2].bytes);
    EXPECT_GT(noted.largest[0].bytes, noted.largest[2].bytes);
    EXPECT_TRUE(noted.largest[0].path.starts_with(folder_.string()));
}

TEST_F(NotedTables, TenOfThemAreListed) {
    map_files(12);
    EXPECT_EQ(status().tables, 12U);
    EXPECT_EQ(status().largest.size(), 10U);
}

TEST_F(NotedTables, ThoseWithoutRoomAreCountedApart) {
    memory.table_room_bytes = 0;
    map_files(2);
    EXPECT_EQ(status().tables, 0U);
    EXPECT_EQ(status().tables_without_room, 2U);
    EXPECT_EQ(status().table_bytes, 0U);
}

TEST_F(NotedTables, ThoseOfWatchedProgramsAreKept) {
    map_files(2);
    modules.begin_watched();
    const CodeModule* last = nullptr;
    modules.for_each([&](const CodeModule& module) { last = &module; });
    ASSERT_NE(last, nullptr);
    modules.add_watched(last->identity, last->reachable, 0);
    modules.end_watched();
    const UnwinderStatus noted = status();
    EXPECT_EQ(noted.tables, 2U);
    EXPECT_EQ(noted.tables_kept, 1U);
    EXPECT_EQ(noted.kept_bytes, last->table_bytes);
    EXPECT_GT(noted.table_bytes, noted.kept_bytes);
}

}  // namespace
}  // namespace lagtrap::daemon::unwinder_status_test
