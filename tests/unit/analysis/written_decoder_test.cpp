#include "analysis/written_decoder.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"
#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::written_decoder_test {
namespace {

using protozero::pbf_writer;
using test::message_of;
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

RawTrace limit_of(std::uint32_t tid) {
    RawTrace trace;
    const std::string message = message_of([&](pbf_writer& limit) {
        limit.add_uint32(1, tid);
        limit.add_string(2, "vdb");
        limit.add_string(3, "batch");
        limit.add_bool(4, true);
        limit.add_uint64(5, 4096);
        limit.add_uint64(6, 30);
    });
    take_disk_limit(message, 50, trace);
    EXPECT_EQ(trace.records, 1U);
    return trace;
}

TEST(WrittenDecoder, LimitsOfDisksHaveTheirThread) {
    const RawTrace trace = limit_of(tid_limit - 1);
    ASSERT_EQ(trace.disk_limits.size(), 1U);
    const DiskLimit& limit = trace.disk_limits[0];
    EXPECT_EQ(limit.at_ns, 50U);
    EXPECT_EQ(limit.tid, tid_limit - 1);
    EXPECT_EQ(trace.names.at(limit.disk), "vdb");
    EXPECT_EQ(trace.names.at(limit.group), "batch");
    EXPECT_TRUE(limit.writes);
    EXPECT_EQ(limit.bytes_per_s, 4096U);
    EXPECT_EQ(limit.operations_per_s, 30U);
    EXPECT_EQ(trace.unreadable, 0U);
    const RawTrace beyond = limit_of(tid_limit);
    EXPECT_TRUE(beyond.disk_limits.empty());
    EXPECT_EQ(beyond.unreadable, 1U);
}

RawTrace written_by(std::uint32_t pid, const std::string& path = "",
                    const std::string& name = "vda") {
    RawTrace trace;
    const std::string message = message_of([&](pbf_writer& written) {
        written.add_uint64(1, 7);
        written.add_uint64(2, 4096);
        if (!path.empty()) written.add_string(3, path);
        written.add_string(4, name);
        if (pid != 0) written.add_uint32(5, pid);
        written.add_uint64(6, 99);
    });
    take_written(message, 50, trace);
    EXPECT_EQ(trace.records, 1U);
    return trace;
}

TEST(WrittenDecoder, AFileHasItsTimePathAndDisk) {
    const RawTrace trace = written_by(0, "/big");
    ASSERT_EQ(trace.written_files.size(), 1U);
    EXPECT_TRUE(trace.file_writers.empty());
    const WrittenFile& written = trace.written_files[0];
    EXPECT_EQ(written.at_ns, 50U);
    EXPECT_EQ(written.file, 7U);
    EXPECT_EQ(written.bytes, 4096U);
    EXPECT_EQ(trace.names.at(written.path), "/big");
    EXPECT_EQ(trace.names.at(written.disk), "vda");
}

TEST(WrittenDecoder, ProcessesBeyondTheKernelsAreCounted) {
    const RawTrace last = written_by(tid_limit - 1);
    ASSERT_EQ(last.file_writers.size(), 1U);
    EXPECT_TRUE(last.written_files.empty());
    EXPECT_EQ(last.file_writers[0].file, 7U);
    EXPECT_EQ(last.file_writers[0].pid, tid_limit - 1);
    EXPECT_EQ(last.file_writers[0].bytes, 4096U);
    EXPECT_EQ(last.file_writers[0].ended_ns, 99U);
    EXPECT_EQ(last.unreadable, 0U);
    const RawTrace beyond = written_by(tid_limit);
    EXPECT_TRUE(beyond.file_writers.empty() && beyond.written_files.empty());
    EXPECT_EQ(beyond.unreadable, 1U);
}

TEST(WrittenDecoder, LongNamesAreCutAndMadePrintable) {
    const RawTrace trace = written_by(0, std::string(4097, 'p'), std::string(65, 'd'));
    EXPECT_EQ(trace.names.at(trace.written_files.at(0).path), std::string(4096, 'p'));
    EXPECT_EQ(trace.names.at(trace.written_files.at(0).disk), std::string(64, 'd'));
    const RawTrace odd = written_by(0, "/a\x1b");
    EXPECT_EQ(odd.names.at(odd.written_files.at(0).path).find('\x1b'), std::string::npos);
}

TEST(WrittenDecoder, EachPartOfAGroupsMemoryIsItsOwn) {
    RawTrace trace;
    const std::string message = message_of([](pbf_writer& memory) {
        for (const std::uint32_t field : {9U, 8U, 7U, 6U, 5U, 4U, 3U, 1U})
            memory.add_uint64(field, 10 + field);
        memory.add_string(2, std::string(4097, 'p'));
    });
    take_group_memory(message, trace);
    EXPECT_EQ(trace.group_memory.pid, 11U);
    EXPECT_EQ(trace.names.at(trace.group_memory.path), std::string(4096, 'p'));
    EXPECT_EQ(trace.group_memory.limit_bytes, 13U);
    EXPECT_EQ(trace.group_memory.used_bytes, 14U);
    EXPECT_EQ(trace.group_memory.file_bytes, 15U);
    EXPECT_EQ(trace.group_memory.anonymous_bytes, 16U);
    EXPECT_EQ(trace.group_memory.shared_bytes, 17U);
    EXPECT_EQ(trace.group_memory.filler_pid, 18U);
    EXPECT_EQ(trace.group_memory.filler_bytes, 19U);
    EXPECT_EQ(trace.records, 1U);
}

}  // namespace
}  // namespace lagtrap::analysis::written_decoder_test
