#include "analysis/written_data.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::written_data_test {
namespace {

constexpr std::uint64_t s = 1'000'000'000, mib = 1 << 20;
constexpr Window window{100 * s, 200 * s};

class WrittenDataOfAWindow : public testing::Test {
  protected:
    void written(std::uint64_t at_s, std::uint64_t file, std::uint64_t bytes,
                 const std::string& path, const std::string& disk = "vda") {
        made_.recording.written_files.push_back(
            {at_s * s, file, bytes, made_.name(path), made_.name(disk)});
    }
    void open_writer(std::uint64_t file, std::uint32_t pid, const std::string& name) {
        made_.process(pid, 1);
        made_.recording.processes[pid].name = made_.name(name);
        made_.recording.file_writers.push_back({file, pid, 0, 0, 0});
    }
    void ended_writer(std::uint32_t pid, const std::string& name, std::uint64_t bytes,
                      std::uint64_t ended_ns) {
        made_.recording.file_writers.push_back({0, pid, made_.name(name), bytes, ended_ns});
    }
    WrittenData found(std::string_view disk = "vda") {
        return written_in(made_.recording, window, disk);
    }
    test::MadeRecording made_;
};

TEST_F(WrittenDataOfAWindow, OnlyWhatWasWrittenInItCounts) {
    written(90, 7, 5 * mib, "/big");
    written(100, 7, 20 * mib, "/big");
    written(150, 7, 60 * mib, "/big");
    written(199, 7, 50 * mib, "/big");
    written(200, 7, 900 * mib, "/big");
    written(150, 8, 2 * mib, "/small");
    written(90, 9, 2 * mib, "/before");
    const WrittenData data = found();
    EXPECT_EQ(data.bytes, 42 * mib);
    EXPECT_EQ(data.files, 2U);
    EXPECT_EQ(data.path, "/big");
    EXPECT_EQ(data.path_bytes, 40 * mib);
    EXPECT_EQ(data.disk, "vda");
    EXPECT_EQ(data.writer_pid, 0U);
    EXPECT_FALSE(data.writer_ended);
}

TEST_F(WrittenDataOfAWindow, OfFilesOfOneSizeTheFirstIsNamed) {
    written(150, 8, 20 * mib, "/second");
    written(150, 7, 20 * mib, "/first");
    EXPECT_EQ(found().path, "/first");
}

TEST_F(WrittenDataOfAWindow, ALittleIsNotMentioned) {
    written(150, 7, 8 * mib - 1, "/big");
    EXPECT_EQ(found().bytes, 0U);
    EXPECT_EQ(found().path, "");
    written(151, 7, 8 * mib, "/big");
    EXPECT_EQ(found().bytes, 8 * mib);
}

TEST_F(WrittenDataOfAWindow, OtherDisksCountOnlyIfThisOneHasNoRequests) {
    written(150, 7, 20 * mib, "/big", "vda");
    written(150, 8, 30 * mib, "/other", "vdb");
    EXPECT_EQ(found("vda").bytes, 20 * mib);
    EXPECT_EQ(found("vdb").path, "/other");
    EXPECT_EQ(found("").bytes, 50 * mib);
    EXPECT_EQ(found("dm-0").bytes, 50 * mib);
    EXPECT_EQ(found("dm-0").disk, "vdb");
}

TEST_F(WrittenDataOfAWindow, WhoHasTheFileOpenIsTheWriter) {
    written(150, 7, 20 * mib, "/big");
    written(150, 8, 10 * mib, "/small");
    open_writer(8, 20, "cp");
    open_writer(7, 30, "dd");
    open_writer(7, 31, "dd");
    open_writer(7, 32, "tar");
    open_writer(7, 30, "dd");
    ended_writer(40, "rsync", 900 * mib, 150 * s);
    const WrittenData data = found();
    EXPECT_EQ(data.writer_pid, 30U);
    EXPECT_EQ(data.writer, "dd");
    EXPECT_EQ(data.writers, 1U);
    EXPECT_FALSE(data.writer_ended);
    EXPECT_EQ(data.writer_bytes, 0U);
}

TEST_F(WrittenDataOfAWindow, WhoWroteMostAndEndedShortlyBeforeMayBeTheWriter) {
    written(150, 7, 20 * mib, "/big");
    ended_writer(30, "dd", 10 * mib, 150 * s);
    ended_writer(31, "cp", 12 * mib, 150 * s);
    ended_writer(32, "tar", 12 * mib, 150 * s);
    const WrittenData data = found();
    EXPECT_EQ(data.writer_pid, 31U);
    EXPECT_EQ(data.writer, "cp");
    EXPECT_EQ(data.writer_bytes, 12 * mib);
    EXPECT_TRUE(data.writer_ended);
}

TEST_F(WrittenDataOfAWindow, AnEndedWriterMustHaveWrittenHalfOfIt) {
    written(150, 7, 20 * mib, "/big");
    ended_writer(30, "dd", 10 * mib - 1, 150 * s);
    EXPECT_EQ(found().writer_pid, 0U);
    ended_writer(31, "cp", 10 * mib, 150 * s);
    EXPECT_EQ(found().writer_pid, 31U);
}

// The kernel writes data back after half a minute.
TEST_F(WrittenDataOfAWindow, AnEndedWriterMustHaveEndedRecently) {
    const auto is_writer = [&](std::uint64_t ended_ns) {
        made_.recording.file_writers.clear();
        ended_writer(30, "dd", 20 * mib, ended_ns);
        return found().writer_pid == 30;
    };
    written(150, 7, 20 * mib, "/big");
    EXPECT_TRUE(is_writer(60 * s));
    EXPECT_FALSE(is_writer(60 * s - 1));
    EXPECT_TRUE(is_writer(200 * s));
    EXPECT_FALSE(is_writer(200 * s + 1));
}

TEST_F(WrittenDataOfAWindow, NothingWasWritten) { EXPECT_EQ(found().bytes, 0U); }

}  // namespace
}  // namespace lagtrap::analysis::written_data_test
