#include "daemon/capture/group_memory.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::group_memory_test {
namespace {

namespace fs = std::filesystem;

class GroupMemoryTest : public ::testing::Test {
  protected:
    ~GroupMemoryTest() override { fs::remove_all(folder_); }
    void write(const fs::path& path, const std::string& text) {
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    static std::string input_and_output(std::uint64_t read, std::uint64_t written) {
        return "rchar: 9\nwchar: 9\nread_bytes: " + std::to_string(read) +
               "\nwrite_bytes: " + std::to_string(written) + "\ncancelled_write_bytes: 7\n";
    }
    void process(std::uint32_t pid, const std::string& group, std::uint64_t read,
                 std::uint64_t written, std::uint64_t pages) {
        const fs::path folder = processes_ / std::to_string(pid);
        write(folder / "cgroup", "0::" + group + "\n");
        // The process has the I/O of its children that have ended too.
        write(folder / "io", input_and_output(read + 9000, written + 9000));
        write(folder / "task" / std::to_string(pid) / "io", input_and_output(read, 0));
        write(folder / "task" / std::to_string(pid + 1000) / "io", input_and_output(0, written));
        write(folder / "statm", "900 " + std::to_string(pages) + " 3 1 0 8 0\n");
    }
    void group(const std::string& path, const std::string& limit, std::uint64_t used,
               const std::string& statistics, const std::string& members) {
        const fs::path folder = groups_ / path;
        write(folder / "memory.max", limit + "\n");
        write(folder / "memory.high", "max\n");
        write(folder / "memory.current", std::to_string(used) + "\n");
        write(folder / "memory.stat", statistics);
        write(folder / "cgroup.procs", members);
    }
    std::optional<daemon::GroupMemory> read(std::uint32_t pid) {
        return read_group_memory(pid, processes_, groups_);
    }

    const fs::path folder_ =
        fs::path(::testing::TempDir()) / ("group-memory-" + std::to_string(::getpid()));
    const fs::path processes_ = folder_ / "proc";
    const fs::path groups_ = folder_ / "groups";
};

// The process's own group has no limit, but its parent group has; another group in that parent
// fills it.
TEST_F(GroupMemoryTest, TellsOfTheGroupNearestToItsLimitAndWhoFillsIt) {
    group("slice", "1000", 990, "anon 100\nfile 850\nshmem 50\n", "");
    group("slice/app", "max", 50, "anon 40\nfile 0\nshmem 0\n", "10\n11\n");
    group("slice/copy", "max", 940, "anon 60\nfile 850\nshmem 50\n", "12\n");
    process(10, "/slice/app", 5, 5, 800);
    process(11, "/slice/app", 0, 0, 2);
    process(12, "/slice/copy", 600, 700, 3);
    const auto found = read(10);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->path, "/slice");
    EXPECT_EQ(found->record.pid, 10U);
    EXPECT_EQ(found->record.limit_bytes, 1000U);
    EXPECT_EQ(found->record.used_bytes, 990U);
    EXPECT_EQ(found->record.file_bytes, 800U);
    EXPECT_EQ(found->record.anonymous_bytes, 100U);
    EXPECT_EQ(found->record.shared_bytes, 50U);
    EXPECT_EQ(found->record.filler_pid, 12U);
    EXPECT_EQ(found->record.filler_bytes, 1300U);
}

TEST_F(GroupMemoryTest, TellsOfThePartThatIsLarger) {
    group("app", "1000", 990, "anon 900\nfile 50\nshmem 0\n", "10\n11\n");
    process(10, "/app", 5000, 0, 2);
    process(11, "/app", 0, 0, 700);
    const auto found = read(10);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->record.filler_pid, 11U);
    EXPECT_EQ(found->record.filler_bytes,
              700U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST_F(GroupMemoryTest, SaysNothingWithoutALimitOrAProcess) {
    group("app", "max", 990, "anon 900\nfile 50\nshmem 0\n", "10\n");
    process(10, "/app", 0, 0, 2);
    EXPECT_FALSE(read(10));
    EXPECT_FALSE(read(99));
}

TEST_F(GroupMemoryTest, IsARecordOfTheLog) {
    group("app", "1000", 990, "anon 900\nfile 50\nshmem 0\n", "10\n");
    process(10, "/app", 0, 0, 2);
    const auto found = read(10);
    ASSERT_TRUE(found);
    int records = 0;
    record_of(*found, 77).for_each([&](const lagtrap_record* record) {
        const auto& memory = *reinterpret_cast<const lagtrap_group_memory*>(record);
        EXPECT_EQ(record->type, LAGTRAP_RECORD_GROUP_MEMORY);
        EXPECT_EQ(record->at_ns, 77U);
        EXPECT_EQ(record->size_bytes, sizeof(memory) + 4);
        EXPECT_EQ(std::string(reinterpret_cast<const char*>(&memory + 1), memory.path_bytes),
                  "/app");
        EXPECT_EQ(memory.used_bytes, 990U);
        ++records;
    });
    EXPECT_EQ(records, 1);
}

}  // namespace
}  // namespace lagtrap::daemon::group_memory_test
