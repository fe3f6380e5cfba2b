#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::written_decoder_test {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;

TEST(WrittenDecoder, KeepsWhenAWriterEndedAndHowMuchItHadWritten) {
    TraceBuilder builder(20 * ms);
    builder.writer(7, 20).ended_writer(5 * ms, 30, "dd", 4096);
    const auto decoded = builder.decode();
    ASSERT_TRUE(decoded) << decoded.error().message;
    const Recording& recording = *decoded;
    ASSERT_EQ(recording.file_writers.size(), 2U);
    EXPECT_EQ(recording.file_writers[0].pid, 20U);
    EXPECT_EQ(recording.file_writers[0].file, 7U);
    EXPECT_EQ(recording.file_writers[0].ended_ns, 0U);
    EXPECT_EQ(recording.file_writers[1].pid, 30U);
    EXPECT_EQ(recording.file_writers[1].bytes, 4096U);
    EXPECT_EQ(recording.name(recording.file_writers[1].name), "dd");
    EXPECT_EQ(recording.file_writers[1].ended_ns, recording.begin_ns + 5 * ms);
}

TEST(WrittenDecoder, KeepsHowMuchOfAFileWasWrittenWhen) {
    TraceBuilder builder(20 * ms);
    builder.written(5 * ms, 7, 1000, "/big", "loop0").written(9 * ms, 7, 3000, "/big", "loop0");
    const auto decoded = builder.decode();
    ASSERT_TRUE(decoded) << decoded.error().message;
    const Recording& recording = *decoded;
    ASSERT_EQ(recording.written_files.size(), 2U);
    EXPECT_EQ(recording.written_files[1].bytes, 3000U);
    EXPECT_EQ(recording.written_files[1].at_ns - recording.written_files[0].at_ns, 4 * ms);
    EXPECT_EQ(recording.name(recording.written_files[1].path), "/big");
    EXPECT_EQ(recording.name(recording.written_files[1].disk), "loop0");
}

TEST(WrittenDecoder, KeepsWhoFillsAControlGroup) {
    TraceBuilder builder(20 * ms);
    builder.group_memory(10, "/shop", 100, 60, 30, 20, 50);
    const auto decoded = builder.decode();
    ASSERT_TRUE(decoded) << decoded.error().message;
    const Recording& recording = *decoded;
    EXPECT_EQ(recording.group_memory.pid, 10U);
    EXPECT_EQ(recording.group_memory.limit_bytes, 100U);
    EXPECT_EQ(recording.group_memory.used_bytes, 90U);
    EXPECT_EQ(recording.group_memory.file_bytes, 60U);
    EXPECT_EQ(recording.group_memory.anonymous_bytes, 30U);
    EXPECT_EQ(recording.group_memory.filler_pid, 20U);
    EXPECT_EQ(recording.group_memory.filler_bytes, 50U);
}

}  // namespace
}  // namespace lagtrap::analysis::written_decoder_test
