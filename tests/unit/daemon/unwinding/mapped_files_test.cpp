#include "daemon/unwinding/mapped_files.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon::mapped_files_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class MappedFilesTest : public testing::Test {
  protected:
    void take(const RecordBuffer& records) {
        records.for_each([this](const lagtrap_record* record) { mapped_files.take(record); });
        mapped_files.done();
    }
    void map(std::uint32_t pid, std::string_view path, std::uint8_t build_id = 0) {
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.pid = pid;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        if (build_id != 0) {
            mapping.build_id_bytes = 8;
            std::memset(mapping.build_id, build_id, 8);
        }
        RecordBuffer records;
        records.append(&mapping, sizeof(mapping), path);
        take(records);
    }
    void change(std::uint16_t type, std::uint32_t pid, std::uint32_t tid, std::uint32_t parent) {
        lagtrap_task_change task{};
        task.header.type = type;
        task.pid = pid;
        task.tid = tid;
        task.parent_pid = parent;
        RecordBuffer records;
        records.append(&task, sizeof(task), {});
        take(records);
    }
    void execute(std::uint32_t pid, const char* comm) {
        lagtrap_name name{};
        name.header.type = LAGTRAP_RECORD_NAME;
        name.pid = name.tid = pid;
        name.by_exec = 1;
        std::string_view(comm).copy(name.comm, sizeof(name.comm) - 1);
        RecordBuffer records;
        records.append(&name, sizeof(name), {});
        take(records);
    }
    void describe(std::uint32_t pid, const std::string& texts) {
        lagtrap_process process{};
        process.header.type = LAGTRAP_RECORD_PROCESS;
        process.pid = pid;
        process.text_bytes = static_cast<std::uint32_t>(texts.size());
        RecordBuffer records;
        records.append(&process, sizeof(process), texts);
        take(records);
    }

    std::map<std::uint32_t, Party> parties;  // by process; the others belong to root
    MappedFiles mapped_files{MappedFiles::Limits{4, 2},
                             [this](std::uint32_t pid) -> std::optional<Party> {
                                 const auto found = parties.find(pid);
                                 return found == parties.end() ? root_party : found->second;
                             }};
};

TEST_F(MappedFilesTest, FilesOfTheNamesThatAreWanted) {
    EXPECT_TRUE(mapped_files.want({"/usr/bin/app", "*/lib*.so", "build-id:0707070707070707"}));
    map(1, "/usr/bin/app");
    map(1, "/opt/other/app");  // a file with that name, for people who ask why nothing is watched
    map(2, "/usr/lib/libx.so", 9);
    map(3, "/any/thing", 7);
    map(4, "/usr/bin/other", 9);
    std::vector<std::string> paths;
    for (const auto& mapped_file : mapped_files.all()) paths.push_back(mapped_file.mapping.path);
    EXPECT_THAT(paths,
                ElementsAre("/usr/bin/app", "/opt/other/app", "/usr/lib/libx.so", "/any/thing"));
    EXPECT_FALSE(mapped_files.want({"/usr/bin/app"}));
    EXPECT_TRUE(mapped_files.want({"/usr/bin/new"}));
}

TEST_F(MappedFilesTest, AForkHasWhatItsParentHas) {
    (void)mapped_files.want({"/usr/bin/app"});
    map(1, "/usr/bin/app");
    change(LAGTRAP_RECORD_FORK, 2, 2, 1);
    change(LAGTRAP_RECORD_FORK, 1, 11, 1);  // a thread
    ASSERT_THAT(mapped_files.all(), SizeIs(1));
    EXPECT_THAT(mapped_files.all().front().pids, UnorderedElementsAre(1, 2));
    change(LAGTRAP_RECORD_EXIT, 1, 11, 1);
    change(LAGTRAP_RECORD_EXIT, 1, 1, 0);
    ASSERT_THAT(mapped_files.all(), SizeIs(1));
    EXPECT_THAT(mapped_files.all().front().pids, ElementsAre(2));
    // the process through which the file can be opened now
    EXPECT_EQ(mapped_files.all().front().mapping.mapping.pid, 2);
    execute(2, "other");
    EXPECT_THAT(mapped_files.all(), IsEmpty());
}

TEST_F(MappedFilesTest, ProgramsStartedByAnotherName) {
    (void)mapped_files.want({"/usr/bin/redis-server", "*/a-name-longer-than-fifteen-bytes"});
    execute(1, "redis-server");
    map(1, "/usr/bin/redis-check-rdb");
    map(1, "/usr/lib/libc.so");  // the program comes first
    execute(2, "a-name-longer-t");
    map(2, "/usr/bin/real");
    auto seen = mapped_files.all();
    ASSERT_THAT(seen, SizeIs(2));
    EXPECT_EQ(seen[0].mapping.path, "/usr/bin/redis-check-rdb");
    EXPECT_TRUE(seen[0].perhaps_started_as);
    EXPECT_EQ(seen[1].mapping.path, "/usr/bin/real");
    mapped_files.begin_scan();
    mapped_files.end_scan();
    describe(
        3, std::string("/usr/bin/redis-check-rdb\0redis-server\0/unit\0/usr/bin/redis-server", 65));
    map(3, "/usr/bin/redis-check-rdb");
    seen = mapped_files.all();
    ASSERT_THAT(seen, SizeIs(1));
    EXPECT_EQ(seen[0].started_as, "/usr/bin/redis-server");
    EXPECT_FALSE(seen[0].perhaps_started_as);
}

// Otherwise, whoever looks meanwhile would believe that the processes had ended.
TEST_F(MappedFilesTest, DuringAScanItIsAsBefore) {
    (void)mapped_files.want({"/usr/bin/shop"});
    map(1, "/usr/bin/shop");
    int changes = 0;
    const auto subscriber = mapped_files.subscribe([&changes] { ++changes; });
    const std::uint64_t version = mapped_files.version();
    mapped_files.begin_scan();
    mapped_files.done();
    map(2, "/usr/bin/shop");
    ASSERT_THAT(mapped_files.all(), SizeIs(1));
    EXPECT_THAT(mapped_files.all().front().pids, ElementsAre(1));
    EXPECT_EQ(changes, 0);
    EXPECT_EQ(mapped_files.version(), version);
    (void)mapped_files.want({});
    EXPECT_THAT(mapped_files.all(), IsEmpty());
    (void)mapped_files.want({"/usr/bin/shop"});
    map(2, "/usr/bin/shop");
    mapped_files.end_scan();
    mapped_files.done();
    EXPECT_EQ(changes, 1);
    EXPECT_THAT(mapped_files.all().front().pids, ElementsAre(2));
    mapped_files.unsubscribe(subscriber);
}

// Anybody can make such a link to a program that is open to all.
TEST(StartedBeside, ALinkElsewhereDoesNotCount) {
    const auto texts = [](const std::string& started) {
        std::string all = "/usr/bin/python3";
        all += '\0';
        all += "command";
        all += '\0';
        all += "/unit";
        return started.empty() ? all : all + '\0' + started;
    };
    EXPECT_FALSE(started_beside(texts("")));
    EXPECT_FALSE(started_beside(texts("/tmp/app")));
    EXPECT_FALSE(started_beside(texts("/usr/bin/../../tmp/app")));
    ASSERT_TRUE(started_beside(texts("/usr/bin/python")));
    EXPECT_EQ(started_beside(texts("/usr/bin/python"))->program, "/usr/bin/python3");
    EXPECT_FALSE(started_beside("/usr/bin/python3"));
    EXPECT_FALSE(started_beside(""));
}

TEST_F(MappedFilesTest, WhatFindsNoRoomIsCounted) {
    (void)mapped_files.want({"*/app"});
    for (const std::uint32_t pid : {1, 2, 3, 4, 5}) map(pid, "/usr/bin/app");
    EXPECT_EQ(mapped_files.left_out().at(root_party), 1);
    map(1, "/a/app", 1);
    map(1, "/b/app", 2);
    EXPECT_EQ(mapped_files.left_out().at(root_party), 2);
    change(LAGTRAP_RECORD_FORK, 6, 6, 1);
    EXPECT_EQ(mapped_files.left_out().at(root_party), 3);
    EXPECT_THAT(mapped_files.all(), SizeIs(5));
}

// With long paths, many files and many processes of one user.
TEST(MappedFilesRoom, AUserHasAQuarterOfIt) {
    constexpr std::uint64_t total_bytes = 256 * 1024;
    MappedFiles mapped_files{{1'000, 32, total_bytes},
                             [](std::uint32_t pid) { return pid < 1'000 ? 7U : 9U; }};
    (void)mapped_files.want({"*/app"});
    const auto map = [&](std::uint32_t pid, const std::string& path) {
        lagtrap_mapping mapping{};
        mapping.header.type = LAGTRAP_RECORD_MAPPING;
        mapping.pid = pid;
        mapping.inode = pid;
        mapping.path_bytes = static_cast<std::uint16_t>(path.size());
        RecordBuffer records;
        records.append(&mapping, sizeof(mapping), path);
        records.for_each([&](const lagtrap_record* record) { mapped_files.take(record); });
    };
    for (std::uint32_t pid = 1; pid < 300; ++pid)
        for (int file = 0; file < 3; ++file)
            map(pid, "/" + std::string(1'000, 'x') + std::to_string(file) + "/app");
    EXPECT_LE(mapped_files.used_bytes(), total_bytes / 4);
    EXPECT_GT(mapped_files.used_bytes(), total_bytes / 5);
    EXPECT_GT(mapped_files.left_out().at(7), 0U);
    map(1'001, "/usr/bin/app");
    EXPECT_EQ(mapped_files.left_out().count(9), 0U);
    EXPECT_EQ(mapped_files.all().back().pids.front(), 1'001U);
}

TEST_F(MappedFilesTest, RoomIsGivenBackWithTheLastProcessOfAFile) {
    (void)mapped_files.want({"/usr/bin/app"});
    map(1, "/usr/bin/app");
    const std::uint64_t of_one = mapped_files.used_bytes();
    EXPECT_GT(of_one, 0U);
    change(LAGTRAP_RECORD_FORK, 2, 2, 1);
    EXPECT_EQ(mapped_files.used_bytes(), of_one + MappedFileTable::process_bytes)
        << "they share the file";
    change(LAGTRAP_RECORD_EXIT, 1, 1, 0);
    EXPECT_EQ(mapped_files.used_bytes(), of_one);
    execute(2, "app");  // becomes another program: what it maps next is reported
    EXPECT_GT(mapped_files.used_bytes(), 0U);
    change(LAGTRAP_RECORD_EXIT, 2, 2, 0);
    EXPECT_EQ(mapped_files.used_bytes(), 0U);
    map(3, "/usr/bin/app");
    (void)mapped_files.want({});
    EXPECT_EQ(mapped_files.used_bytes(), 0U);
}

TEST_F(MappedFilesTest, ChangesAreTold) {
    int reported = 0;
    const auto subscriber = mapped_files.subscribe([&] { ++reported; });
    (void)mapped_files.want({"*/app"});
    map(1, "/usr/bin/other");
    EXPECT_EQ(reported, 0);
    map(1, "/usr/bin/app");
    map(1, "/usr/bin/app");
    EXPECT_EQ(reported, 1);
    EXPECT_EQ(mapped_files.version(), 1);
    mapped_files.unsubscribe(subscriber);
    change(LAGTRAP_RECORD_EXIT, 1, 1, 0);
    EXPECT_EQ(reported, 1);
}

}  // namespace
}  // namespace lagtrap::daemon::mapped_files_test
