#include "trace/stacks/stack_quality.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.hpp"
#include "tests/unit/trace/synthetic_capture.hpp"
#include "tests/unit/trace/temporary_directory.hpp"
#include "trace/merge/merge.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace::stack_quality_test {
namespace {

using testing::UnorderedElementsAre;

class StackQualityTest : public testing::Test {
  protected:
    Result<MergeSummary> merge() {
        MergeOptions options;
        options.symbols.proc_root = options.symbols.kernel_notes =
            capture_.path() / "no-such-folder";
        return merge_capture(capture_.path(), options);
    }
    SystemFile system() {
        return read_system_file(read_file(capture_.path() / "system.xml", 16 << 20).value())
            .value();
    }

    TemporaryDirectory capture_;
};

TEST(StackEnd, EachHasItsName) {
    const std::pair<lagtrap_stack_end, const char*> names[] = {
        {LAGTRAP_STACK_END_UNKNOWN, "unknown"},
        {LAGTRAP_STACK_END_COMPLETE, "complete"},
        {LAGTRAP_STACK_END_TOO_DEEP, "too-deep"},
        {LAGTRAP_STACK_END_BAD_ADDRESS, "bad-address"},
        {LAGTRAP_STACK_END_NO_PROCESS, "no-process"},
        {LAGTRAP_STACK_END_NO_MAPPING, "no-mapping"},
        {LAGTRAP_STACK_END_NO_TABLE, "no-table"},
        {LAGTRAP_STACK_END_OUT_OF_BUDGET, "out-of-budget"},
        {LAGTRAP_STACK_END_GAP, "gap"},
        {LAGTRAP_STACK_END_UNSUPPORTED, "unsupported"},
        {LAGTRAP_STACK_END_NO_PROGRESS, "no-progress"},
        {LAGTRAP_STACK_END_32_BIT, "32-bit"},
        {LAGTRAP_STACK_END_COPY_ENDED, "copy-ended"}};
    EXPECT_EQ(std::size(names), std::size_t{LAGTRAP_STACK_ENDS});
    for (const auto& [end, name] : names)
        EXPECT_STREQ(stack_end_name(static_cast<std::uint8_t>(end)), name);
    EXPECT_STREQ(stack_end_name(LAGTRAP_STACK_ENDS), "unknown");
    EXPECT_STREQ(stack_end_name(200), "unknown");
}

TEST_F(StackQualityTest, SaysWhatStoppedTheStacks) {
    constexpr auto by_frame_pointers = [](lagtrap_stack_end end) {
        return static_cast<std::uint8_t>(end | LAGTRAP_STACK_BY_FRAME_POINTER);
    };
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        capture.mapping(100, 0, 0x400000, 0x10000, 0, "/usr/bin/server", "\xaa");
        capture.mapping(100, 0, 0x700000, 0x10000, 0, "/lib/jit.so", "\xbb");
        capture.user_stack(1, 11, 100, {0x400010, 0x400100}, LAGTRAP_STACK_END_COMPLETE);
        capture.user_stack(1, 12, 100, {0x400010, 0x400200},
                           by_frame_pointers(LAGTRAP_STACK_END_COMPLETE));
        capture.user_stack(1, 13, 100, {0x400010, 0x700100}, LAGTRAP_STACK_END_GAP);
        capture.user_stack(1, 14, 100, {0x700010, 0x400100},
                           by_frame_pointers(LAGTRAP_STACK_END_BAD_ADDRESS));
        capture.user_stack(1, 15, 100, {0x400010}, LAGTRAP_STACK_END_UNKNOWN);
        capture.user_stack(1, 16, 100, {0x400020, 0xdead0000}, LAGTRAP_STACK_END_NO_MAPPING);
        double ms = 2;
        for (const std::uint64_t stack : {11, 11, 12, 13, 13, 13, 14, 15, 16, 17})
            capture.sample(ms++, 0, 100, 100, 0, stack);
        capture.switched(50, 0, 100, 100, 1, 0, 0, 0, 13);
        capture.switched(60, 0, 100, 100, 1, 0, 0, 0, 12);
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const StackQuality stacks = system().stacks;
    EXPECT_EQ(stacks.on_cpu.stacks, 10U);
    EXPECT_EQ(stacks.on_cpu.complete, 3U);
    EXPECT_EQ(stacks.on_cpu.by_frame_pointers, 1U);
    EXPECT_EQ(stacks.off_cpu.stacks, 2U);
    EXPECT_EQ(stacks.off_cpu.complete, 1U);
    EXPECT_EQ(stacks.off_cpu.by_frame_pointers, 1U);
    std::vector<std::string> stops;
    for (const StackStop& stop : stacks.stops)
        stops.push_back(stop.module + " " + stop.reason + " " + std::to_string(stop.on_cpu) + "+" +
                        std::to_string(stop.off_cpu));
    EXPECT_THAT(stops, UnorderedElementsAre(
                           "/lib/jit.so gap 3+1", "/usr/bin/server bad-address 1+0",
                           "/usr/bin/server unknown 1+0", "[unknown] no-mapping 1+0", " lost 1+0"));
    EXPECT_EQ(stops.front(), "/lib/jit.so gap 3+1");
}

TEST_F(StackQualityTest, StopsBeyondTheListAreSummed) {
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        for (std::uint64_t i = 0; i < 30; ++i) {
            const std::uint64_t start = 0x400000 + i * 0x10000;
            capture.mapping(100, 0, start, 0x10000, 0, "/lib/" + std::to_string(i) + ".so", "\xaa");
            capture.user_stack(1, 100 + i, 100, {start}, LAGTRAP_STACK_END_NO_TABLE);
            capture.sample(2, 0, 100, 100, 0, 100 + i);
            if (i < 20) capture.sample(3, 0, 100, 100, 0, 100 + i);
            if (i > 27) capture.switched(4 + i, 0, 100, 100, 1, 100, 100, 0, 100 + i);
        }
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const StackQuality stacks = system().stacks;
    ASSERT_EQ(stacks.stops.size(), 20U);
    for (const StackStop& stop : stacks.stops) EXPECT_EQ(stop.count(), 2U) << "the most frequent";
    EXPECT_EQ(stacks.other_stops.on_cpu, 10U);
    EXPECT_EQ(stacks.other_stops.off_cpu, 2U);
}

// JIT code needs no file: frame pointers lead through its frames.
TEST_F(StackQualityTest, StacksThatCameLateAreWholeAndSaidToBeLate) {
    constexpr std::uint64_t stack_start = 0x7000'0000;
    {
        SyntheticCapture capture(capture_.path(), synthetic_session());
        capture.thread(100, 100, "server");
        capture.mapping(100, 0, 0x400000, 0x10000, 0, "//anon", "");
        capture.user_stack(1, 11, 100, {0x400010}, LAGTRAP_STACK_END_NO_PROCESS);
        lagtrap_stack_copy copy{};
        copy.inner_id = 11;
        copy.pc = 0x400010;
        copy.sp = copy.copied_from = copy.bp = stack_start;
        copy.pid = 100;
        copy.end = LAGTRAP_STACK_END_NO_PROCESS;
        copy.stack_id = 21;
        capture.stack_copy(2, copy, {stack_start + 16, 0x400100, 0, 0x400200, 0, 0});
        copy.stack_id = 22;  // leads nowhere: the reason is that of the kernel side
        capture.stack_copy(3, copy, {1, 2});
        for (double ms = 4; ms < 7; ++ms) capture.sample(ms, 0, 100, 100, 0, 21);
        capture.sample(8, 0, 100, 100, 0, 22);
        capture.sample(9, 0, 100, 100, 0, 11);
        capture.run(SyntheticCapture::make_run(0, 100, 100, 1, 190));
        capture.flush();
    }
    ASSERT_TRUE(merge());
    const StackQuality stacks = system().stacks;
    EXPECT_EQ(stacks.on_cpu.stacks, 5U);
    EXPECT_EQ(stacks.on_cpu.complete, 3U);
    EXPECT_EQ(stacks.on_cpu.late, 3U);
    EXPECT_EQ(stacks.delayed.stacks, 5U);
    EXPECT_EQ(stacks.delayed.complete, 3U);
    EXPECT_EQ(stacks.delayed.late, 3U);
    EXPECT_EQ(stacks.frames, 11U);
    ASSERT_EQ(stacks.stops.size(), 1U);
    EXPECT_EQ(stacks.stops[0].reason, "no-process");
    EXPECT_EQ(stacks.stops[0].on_cpu, 2U);
}

}  // namespace
}  // namespace lagtrap::trace::stack_quality_test
