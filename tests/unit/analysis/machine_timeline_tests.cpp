#include <algorithm>

#include <gtest/gtest.h>

#include "analysis/machine_timeline.hpp"
#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::machine_timeline_tests {
namespace {

using test::TraceBuilder;
constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin = TraceBuilder::begin_ns;
constexpr auto whole = MachineWindow{-1'000'000'000, 1'000'000'000, 100};

// 10 waits from 60 to 110 ms for 11, which computes. 20, of another process, runs briefly every 2
// ms on the CPU that 10 left.
TraceBuilder lock_and_neighbour() {
    TraceBuilder builder(200 * ms);
    builder.process(10, "/usr/bin/app").thread(10, 10, "app").thread(10, 11, "holder");
    builder.process(20, "/usr/bin/other").thread(20, 20, "other").thread(20, 21, "sleeper");
    builder.switched(1 * ms, 0, 0, 0, 10).switched(2 * ms, 1, 0, 0, 11);
    builder.switched(60 * ms, 0, 10, 1, 0)
        .off_cpu(60 * ms, 10, 10, {"main", "lock", "k:futex_wait"});
    for (std::uint64_t at = 62; at < 110; at += 2)
        builder.switched(at * ms, 0, 0, 0, 20).switched(at * ms + ms / 4, 0, 20, 1, 0);
    builder.samples(62 * ms, 110 * ms, 1, 10, 11, {"hold"});
    builder.waking(110 * ms, 1, 11, 10).switched(110 * ms, 0, 0, 0, 10);
    builder.waking(150 * ms, 1, 0, 21, true);
    builder.run(TraceBuilder::delay(1, "work", static_cast<std::int64_t>(20 * ms), 100 * ms,
                                    10 * ms, 10, 10));
    builder.run(TraceBuilder::delay(2, "other", static_cast<std::int64_t>(70 * ms), 2 * ms, 10 * ms,
                                    20, 20),
                false);
    return builder;
}

class MachineTimelineTest : public testing::Test {
  protected:
    void SetUp() override {
        auto decoded = builder.decode();
        ASSERT_TRUE(decoded);
        recording = std::move(decoded).value();
    }
    [[nodiscard]] MachineTimeline machine(MachineWindow window = whole,
                                          const MachineLimits& limits = {}) const {
        return machine_timeline(recording, builder.system.delays[0], window, limits);
    }
    TraceBuilder builder = lock_and_neighbour();
    Recording recording;
};

TEST_F(MachineTimelineTest, the_delays_thread_stands_first_and_its_wait_has_its_waker) {
    const MachineTimeline found = machine();
    EXPECT_EQ(found.begin_ns, begin + 20 * ms);
    EXPECT_EQ(found.from_ns, begin);
    EXPECT_EQ(found.to_ns, begin + 200 * ms);
    ASSERT_GE(found.threads.size(), 3U);
    EXPECT_EQ(found.threads[0].thread->tid, 10U);
    EXPECT_TRUE(found.threads[0].of_delay);
    EXPECT_EQ(found.threads[1].thread->tid, 11U);
    EXPECT_EQ(found.threads[0].blocked_ns, 50 * ms);
    const auto wait =
        std::find_if(found.threads[0].cells.begin(), found.threads[0].cells.end(),
                     [](const MachineCell& cell) { return cell.state == MachineState::Blocked; });
    ASSERT_NE(wait, found.threads[0].cells.end());
    EXPECT_EQ(wait->from_ns, begin + 60 * ms);
    EXPECT_EQ(wait->to_ns, begin + 110 * ms);
    EXPECT_NE(wait->stack, 0U);
    ASSERT_FALSE(found.wakes.empty());
    EXPECT_EQ(found.wakes[0].at_ns, begin + 110 * ms);
    EXPECT_EQ(found.wakes[0].tid, 10U);
    EXPECT_EQ(found.wakes[0].waker_tid, 11U);
    ASSERT_EQ(found.runs.size(), 1U);
    EXPECT_EQ(found.runs[0]->event, "other");
}

TEST_F(MachineTimelineTest, nobody_is_the_waker_where_an_interrupt_was) {
    const MachineTimeline found = machine();
    for (const MachineWake& wake : found.wakes)
        if (wake.tid == 21) {
            EXPECT_EQ(wake.waker_tid, 0U);
        }
}

TEST_F(MachineTimelineTest, short_states_are_joined_with_their_shares_until_one_looks_closer) {
    const auto other = [](const MachineTimeline& found) {
        return *std::find_if(found.threads.begin(), found.threads.end(),
                             [](const MachineThread& row) { return row.thread->tid == 20; });
    };
    const MachineTimeline coarse = machine({-1'000'000'000, 1'000'000'000, 20});
    bool joined = false;
    for (const MachineCell& cell : other(coarse).cells) {
        if (cell.state != MachineState::Several) continue;
        joined = true;
        // An eighth of it, give or take one run at an edge.
        EXPECT_NEAR(static_cast<double>(cell.on_cpu_ns),
                    static_cast<double>(cell.to_ns - cell.from_ns) / 8, ms / 4.0);
    }
    EXPECT_TRUE(joined);
    EXPECT_EQ(other(coarse).on_cpu_ns, 24 * ms / 4);
    bool shared = false;
    for (const CpuCell& cell : coarse.cpus[0]) shared = shared || (cell.several && cell.tid == 20);
    EXPECT_TRUE(shared);
    const MachineTimeline fine =
        machine({static_cast<std::int64_t>(50 * ms), static_cast<std::int64_t>(60 * ms), 1000});
    for (const MachineCell& cell : other(fine).cells) EXPECT_NE(cell.state, MachineState::Several);
    for (const CpuCell& cell : fine.cpus[0]) EXPECT_FALSE(cell.several);
}

TEST_F(MachineTimelineTest, cells_are_in_order_and_within_what_was_asked_for) {
    const MachineWindow window{static_cast<std::int64_t>(30 * ms),
                               static_cast<std::int64_t>(70 * ms), 50};
    const MachineTimeline found = machine(window);
    EXPECT_EQ(found.from_ns, begin + 50 * ms);
    EXPECT_EQ(found.to_ns, begin + 90 * ms);
    for (const MachineThread& row : found.threads) {
        std::uint64_t at_ns = found.from_ns;
        for (const MachineCell& cell : row.cells) {
            EXPECT_GE(cell.from_ns, at_ns);
            EXPECT_GT(cell.to_ns, cell.from_ns);
            at_ns = cell.to_ns;
        }
        EXPECT_LE(at_ns, found.to_ns);
    }
}

TEST_F(MachineTimelineTest, an_answer_stays_within_its_limits_and_counts_the_rest) {
    MachineLimits limits;
    limits.threads = 2;
    limits.cells = 12;
    limits.samples = 5;
    limits.wakes = 0;
    const MachineTimeline found = machine(whole, limits);
    EXPECT_EQ(found.threads.size(), 2U);
    EXPECT_GT(found.threads_left_out, 0U);
    std::size_t cells = 0;
    for (const auto& cpu : found.cpus) cells += cpu.size();
    for (const MachineThread& row : found.threads) cells += row.cells.size();
    EXPECT_LE(cells, limits.cells);
    EXPECT_GT(found.finest_ns, 2 * ms);
    EXPECT_TRUE(found.wakes.empty());
    std::size_t samples = 0;
    for (const MachineThread& row : found.threads) samples += row.samples.size();
    EXPECT_LE(samples, limits.samples);
    EXPECT_GT(found.samples_left_out, 0U);
}

TEST_F(MachineTimelineTest, beside_the_recording_there_is_nothing) {
    for (const MachineWindow& window : {MachineWindow{INT64_MIN, INT64_MIN + 1, 10},
                                        MachineWindow{INT64_MAX - 1, INT64_MAX, 10}}) {
        const MachineTimeline found = machine(window);
        EXPECT_TRUE(found.threads.empty());
        EXPECT_EQ(found.from_ns, found.to_ns);
    }
}

}  // namespace
}  // namespace lagtrap::analysis::machine_timeline_tests
