#include "server/store/run_detail.hpp"

#include <set>

#include <gtest/gtest.h>

#include "server/sketch/varint.hpp"

namespace lagtrap::server::run_detail_test {
namespace {

DetailRecord whole_record() {
    DetailRecord detail;
    detail.threshold_ns = 1ULL << 50;
    detail.key = UINT64_MAX;
    detail.pid = 11;
    detail.begin_tid = 12;
    detail.end_tid = 13;
    detail.executable = 14;
    detail.thread = 15;
    detail.begin_stack = 1ULL << 60;
    detail.end_stack = 17;
    detail.stages = {{18, 19, 20, 21}, {22, 1ULL << 40, 24, 1ULL << 61}};
    return detail;
}

trace::RunTimes some_times() {
    trace::RunTimes times;
    times.parts = {1, 1ULL << 40, 3, {}};
    times.handed_over_ns = 4;
    for (std::size_t i = 0; i < times.parts.blocked_ns.size(); ++i)
        times.parts.blocked_ns[i] = 100 + i;
    return times;
}

std::string error_of(const std::string& bytes) {
    const auto detail = read_detail(bytes);
    return detail.ok() ? "" : detail.error().message;
}

TEST(RunDetail, ComesBackAsItWas) {
    for (const bool aborted : {false, true}) {
        for (const bool without_stages : {false, true}) {
            DetailRecord detail = whole_record();
            detail.aborted = aborted;
            detail.without_stages = without_stages;
            if (aborted) detail.times = some_times();
            const auto read = read_detail(write_detail(detail));
            ASSERT_TRUE(read.ok()) << read.error().message;
            EXPECT_TRUE(*read == detail);
        }
    }
    const auto least = read_detail(write_detail({}));
    ASSERT_TRUE(least.ok());
    EXPECT_TRUE(*least == DetailRecord{});
}

// Older servers read a run without times, too.
TEST(RunDetail, OnlyTimesNeedTheSecondVersion) {
    DetailRecord detail = whole_record();
    EXPECT_EQ(write_detail(detail).front(), 1);
    detail.times = some_times();
    EXPECT_EQ(write_detail(detail).front(), 2);
}

TEST(RunDetail, OtherVersionsAndPartsAreDamage) {
    DetailRecord detail = whole_record();
    detail.stages.clear();
    detail.times = some_times();
    std::string bytes = write_detail(detail);
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(error_of(bytes.substr(0, size)), "a stored run is damaged") << size;
    EXPECT_EQ(error_of(bytes + '\x01'), "a stored run is damaged") << "a stage is cut";
    for (const char version : {'\x00', '\x03'}) {
        bytes.front() = version;
        EXPECT_EQ(error_of(bytes), "a stored run is damaged");
    }
}

TEST(RunDetail, StagesAreWholeOrDamage) {
    const DetailRecord whole = whole_record();
    DetailRecord one_stage = whole, none = whole;
    one_stage.stages.pop_back();
    none.stages.clear();
    const std::string bytes = write_detail(whole);
    const std::set<std::size_t> ends{write_detail(none).size(), write_detail(one_stage).size()};
    for (std::size_t size = *ends.begin(); size < bytes.size(); ++size)
        EXPECT_EQ(error_of(bytes.substr(0, size)),
                  ends.contains(size) ? "" : "a stored run is damaged")
            << size;
}

// A server of another version may know fewer or more kinds of waits.
TEST(RunDetail, KindsOfWaitsMayBeMissingButNotTooMany) {
    DetailRecord detail;
    detail.times = some_times();
    const std::string bytes = write_detail(detail);
    DetailRecord bare;
    const std::size_t head = write_detail(bare).size();
    const auto with_times = [&](std::uint64_t count) {
        std::string text = bytes.substr(0, head);
        put_varint(text, count);
        for (std::uint64_t i = 0; i < count; ++i) put_varint(text, i + 1);
        return read_detail(text);
    };
    const auto few = with_times(5);
    ASSERT_TRUE(few.ok()) << few.error().message;
    ASSERT_TRUE(few->times.has_value());
    EXPECT_EQ(few->times->parts.on_cpu_ns, 1U);
    EXPECT_EQ(few->times->parts.runnable_ns, 2U);
    EXPECT_EQ(few->times->parts.throttled_ns, 3U);
    EXPECT_EQ(few->times->handed_over_ns, 4U);
    EXPECT_EQ(few->times->parts.blocked_ns[0], 5U);
    EXPECT_EQ(few->times->parts.blocked_ns[1], 0U);
    const std::uint64_t all = 4 + few->times->parts.blocked_ns.size();
    EXPECT_TRUE(with_times(all).ok());
    EXPECT_FALSE(with_times(all + 1).ok());
}

TEST(RunStack, ComesBackAsItWas) {
    const trace::RunStack stack = {{"libdemo.so", "ab12", 1ULL << 40, "load_data", "load.c", 7},
                                   {"demo", "", 0, "", "", 0}};
    const std::string bytes = write_stack(stack);
    const auto read = read_stack(bytes);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, stack);
    EXPECT_TRUE(read_stack("")->empty());
    const auto cut = read_stack(std::string_view(bytes).substr(0, bytes.size() - 1));
    ASSERT_FALSE(cut.ok());
    EXPECT_EQ(cut.error().message, "a stored stack is damaged");
}

TEST(RunStack, FramesAreWholeOrDamage) {
    const trace::RunFrame frame = {"libdemo.so", "ab12", 1ULL << 40, "load_data", "load.c", 7};
    const std::string bytes = write_stack({frame, frame});
    for (std::size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(read_stack(std::string_view(bytes).substr(0, size)).ok(),
                  size == 0 || size == bytes.size() / 2)
            << size;
}

// Of the SHA-256, so that all servers give a stack one number, which fits a signed column.
TEST(RunStack, ItsNumberIsThatOfItsBytes) {
    EXPECT_EQ(stack_id("abc"), 0xba7816bf8f01cfeaULL >> 1);
    EXPECT_NE(stack_id("abc"), stack_id("abd"));
}

}  // namespace
}  // namespace lagtrap::server::run_detail_test
