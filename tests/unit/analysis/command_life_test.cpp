#include "analysis/command_life.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/trace_builder.hpp"

namespace lagtrap::analysis::command_life_test {
namespace {

using test::TraceBuilder;
using testing::ElementsAre;

constexpr std::uint64_t ms = TraceBuilder::ms;
constexpr std::uint64_t begin_ns = TraceBuilder::begin_ns;
const TraceBuilder::Stack in_wait{"main", "wait4", "k:do_wait", "k:schedule"};
const TraceBuilder::Stack in_sleep{"main", "nanosleep", "k:hrtimer_nanosleep", "k:schedule"};

// The command 10 computes for 20 ms, waits for its child 30 until 120 ms, sleeps until 160 ms and
// computes until 200 ms. 30 starts 31, which does the work. 40 is a stranger.
TraceBuilder build() {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/bin/make all").thread(10, 10, "make");
    builder.process(30, "/bin/sh -c cc", 10, 20 * ms).thread(30, 30, "sh");
    builder.process(31, "/bin/cc -c x.c", 30, 30 * ms).thread(31, 31, "cc");
    builder.process(40, "/bin/other", 1, 30 * ms).thread(40, 40, "other");
    builder.switched(0, 0, 0, 0, 10);
    builder.off_cpu(20 * ms, 10, 10, in_wait).switched(20 * ms, 0, 10, 1, 30);
    builder.off_cpu(30 * ms, 30, 30, in_wait).switched(30 * ms, 0, 30, 1, 31);
    builder.switched(110 * ms, 0, 31, 0x10, 0)
        .waking(110 * ms, 0, 31, 30)
        .switched(110 * ms, 1, 0, 0, 30);
    builder.waking(120 * ms, 1, 30, 10).switched(120 * ms, 1, 30, 0x10, 10);
    builder.off_cpu(120 * ms + 1, 10, 10, in_sleep).switched(120 * ms + 1, 1, 10, 1, 0);
    builder.caused_waking(160 * ms, 1, 0, 10, 1).switched(160 * ms, 1, 0, 0, 10);
    builder.switched(200 * ms, 1, 10, 0x10, 40).switched(390 * ms, 1, 40, 1, 0);
    return builder;
}

TEST(CommandLife, HasTheLongestWaitsFirst) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    EXPECT_EQ(life.delay.duration_ns, 200 * ms);
    EXPECT_FALSE(life.delay.open);
    EXPECT_EQ(life.split.wall_ns, 200 * ms);
    ASSERT_EQ(life.waits.size(), 2U);
    EXPECT_EQ(life.waits[0].offset_ns, 20 * ms);
    EXPECT_EQ(life.waits[0].length_ns, 100 * ms);
    EXPECT_EQ(life.waits[0].reason, "child process");
    EXPECT_EQ(life.waits[0].ended_by.tid, 30U);
    EXPECT_FALSE(life.waits[0].went_on);
    EXPECT_FALSE(life.waits[0].timed_out);
    EXPECT_EQ(life.waits[1].offset_ns, 120 * ms + 1);
    EXPECT_EQ(life.waits[1].reason, "sleep");
    EXPECT_EQ(life.waits[1].ended_by.tid, 0U);
}

TEST(CommandLife, HasItsDescendantsByTheirBegin) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    ASSERT_EQ(life.started.size(), 2U);
    EXPECT_EQ(life.started[0].pid, 30U);
    EXPECT_EQ(life.started[0].parent_pid, 10U);
    EXPECT_EQ(life.started[0].command_line, "/bin/sh -c cc");
    EXPECT_EQ(life.started[0].on_cpu_ns, 20 * ms);
    EXPECT_EQ(life.started[1].pid, 31U);
    EXPECT_EQ(life.started[1].on_cpu_ns, 80 * ms);
    EXPECT_LE(life.started[0].offset_ns, life.started[1].offset_ns);
}

TEST(CommandLife, ItsPartsAddUpAndFollowWhomItWaitedFor) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    std::uint64_t sum_ns = 0;
    std::map<std::string, std::uint64_t> on_cpu_ns;
    for (std::size_t i = 0; i < life.parts.size(); ++i) {
        const LifePart& part = life.parts[i];
        if (i > 0) EXPECT_GE(life.parts[i - 1].time_ns, part.time_ns);
        EXPECT_EQ(part.processes, 1U);
        sum_ns += part.time_ns;
        if (part.kind == TimeKind::OnCpu) on_cpu_ns[part.process] += part.time_ns;
        if (part.kind == TimeKind::Blocked) EXPECT_EQ(part.reason, "sleep");
    }
    EXPECT_EQ(sum_ns, 200 * ms);
    EXPECT_EQ(on_cpu_ns["cc"], 80 * ms);
    EXPECT_EQ(on_cpu_ns["sh"], 20 * ms);
    EXPECT_EQ(on_cpu_ns["make"], 60 * ms + 1);
}

// The command 10 waits for its children 30 and 31, one after the other; both compute.
TEST(CommandLife, SaysWhatSeveralChildrenDid) {
    TraceBuilder builder(300 * ms, 2);
    builder.process(10, "/bin/make all").thread(10, 10, "make");
    builder.process(30, "/bin/cc -c x.c", 10, 0).thread(30, 30, "cc");
    builder.process(31, "/bin/cc -c y.c", 10, 100 * ms).thread(31, 31, "cc");
    builder.switched(0, 0, 0, 0, 10);
    builder.off_cpu(1 * ms, 10, 10, in_wait).switched(1 * ms, 0, 10, 1, 30);
    builder.waking(100 * ms, 0, 30, 10).switched(100 * ms, 0, 30, 0x10, 10);
    builder.off_cpu(101 * ms, 10, 10, in_wait).switched(101 * ms, 0, 10, 1, 31);
    builder.waking(200 * ms, 0, 31, 10).switched(200 * ms, 0, 31, 0x10, 10);
    builder.switched(201 * ms, 0, 10, 0x10, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 201 * ms));
    const auto sentences = life_sentences(life);
    ASSERT_EQ(sentences.size(), 2U + (cause_sentences(life.causes).size() > 1 ? 1U : 0U));
    EXPECT_THAT(sentences[0],
                testing::AllOf(testing::HasSubstr("until cc (30) and another process with that "
                                                  "name ended; meanwhile cc (30) computed for"),
                               testing::Not(testing::HasSubstr("ended by"))));
    EXPECT_EQ(sentences[1], "Of this, cc (2 processes) computed for 198 ms (99 %).");
}

// What a command that waited 100 ms for two children says about the part of their time.
std::string sentence_about(const LifePart& part, std::size_t children = 2) {
    CommandLife life;
    life.split.wall_ns = 100 * ms;
    life.causes.wall_ns = 100 * ms;
    life.causes.who.process = "make";
    DelayCause& cause = life.causes.causes.emplace_back();
    cause.doing.kind = TimeKind::Blocked;
    cause.doing.wait = WaitKind::Child;
    cause.doing.time_ns = 100 * ms;
    cause.doing.waker_count = children;
    life.parts = {
        {"make", 1, TimeKind::OnCpu, "", 60 * ms}, {"cc", 1, TimeKind::Unknown, "", 50 * ms}, part};
    const auto sentences = life_sentences(life);
    return sentences.size() > cause_sentences(life.causes).size() ? sentences.at(1) : "";
}

TEST(CommandLife, SaysHowSeveralChildrenSpentAQuarterOfItsTime) {
    EXPECT_EQ(sentence_about({"cc", 3, TimeKind::OnCpu, "", 30 * ms}),
              "Of this, cc (3 processes) computed for 30.0 ms (30 %).");
    EXPECT_EQ(sentence_about({"cc", 1, TimeKind::Runnable, "", 30'500'000}),
              "Of this, cc waited for a CPU for 30.5 ms (31 %).");
    EXPECT_EQ(sentence_about({"cc", 1, TimeKind::Blocked, "disk", 25 * ms}),
              "Of this, cc was blocked for 25.0 ms (25 %): disk.");
    EXPECT_EQ(sentence_about({"cc", 1, TimeKind::OnCpu, "", 25 * ms - 1}), "");
    EXPECT_EQ(sentence_about({"make", 1, TimeKind::OnCpu, "", 50 * ms}), "");
    EXPECT_EQ(sentence_about({"cc", 1, TimeKind::OnCpu, "", 50 * ms}, 1), "");
}

TEST(CommandLife, SaysItOnceOfOneChild) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    EXPECT_EQ(life_sentences(life), cause_sentences(life.causes));
}

TEST(CommandLife, KeepsTheTenLongestWaits) {
    TraceBuilder builder(400 * ms, 1);
    builder.process(10, "/bin/app").thread(10, 10, "app").switched(0, 0, 0, 0, 10);
    std::uint64_t at = 1 * ms;
    for (std::uint64_t i = 1; i <= 12; ++i) {
        builder.off_cpu(at, 10, 10, in_sleep).switched(at, 0, 10, 1, 0);
        at += i * ms;
        builder.waking(at, 0, 0, 10, true).switched(at, 0, 0, 0, 10);
        at += ms;
    }
    builder.switched(at, 0, 10, 0x10, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    ASSERT_EQ(life.waits.size(), 10U);
    EXPECT_EQ(life.waits.front().length_ns, 12 * ms);
    EXPECT_EQ(life.waits.back().length_ns, 3 * ms);
}

// An interrupt on the CPU where 40 runs ends the first wait, 40 the second one; nothing ends the
// third one before the parent sees the end of the command.
TEST(CommandLife, NamesNobodyForWaitsThatEndedByThemselves) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/bin/app").thread(10, 10, "app");
    builder.process(40, "/bin/other").thread(40, 40, "other");
    builder.switched(0, 0, 0, 0, 10).switched(0, 1, 0, 0, 40);
    builder.off_cpu(10 * ms, 10, 10, in_sleep).switched(10 * ms, 0, 10, 1, 0);
    builder.waking(90 * ms, 1, 40, 10, true).switched(90 * ms, 0, 0, 0, 10);
    builder.off_cpu(100 * ms, 10, 10, in_wait).switched(100 * ms, 0, 10, 1, 0);
    builder.waking(160 * ms, 1, 40, 10).switched(160 * ms, 0, 0, 0, 10);
    builder.off_cpu(170 * ms, 10, 10, in_sleep).switched(170 * ms, 0, 10, 1, 0);
    builder.switched(390 * ms, 1, 40, 1, 0);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    ASSERT_EQ(life.waits.size(), 3U);
    EXPECT_EQ(life.waits[0].length_ns, 80 * ms);
    EXPECT_EQ(life.waits[0].ended_by.tid, 0U);
    EXPECT_EQ(life.waits[0].ended_by.process, "");
    EXPECT_FALSE(life.waits[0].went_on);
    EXPECT_EQ(life.waits[1].length_ns, 60 * ms);
    EXPECT_EQ(life.waits[1].ended_by.tid, 40U);
    EXPECT_EQ(life.waits[1].ended_by.pid, 40U);
    EXPECT_EQ(life.waits[1].ended_by.thread, "other");
    EXPECT_TRUE(life.waits[2].went_on);
    EXPECT_EQ(life.waits[2].ended_by.process, "");
}

// A timer that the thread set ends the first wait, another timer the second one.
TEST(CommandLife, SaysWhichWaitsTimedOut) {
    TraceBuilder builder(400 * ms, 2);
    builder.process(10, "/bin/app").thread(10, 10, "app").switched(0, 0, 0, 0, 10);
    builder.off_cpu(10 * ms, 10, 10, in_sleep).switched(10 * ms, 0, 10, 1, 0);
    builder.caused_waking(90 * ms, 1, 0, 10, 2).switched(90 * ms, 0, 0, 0, 10);
    builder.off_cpu(100 * ms, 10, 10, in_sleep).switched(100 * ms, 0, 10, 1, 0);
    builder.caused_waking(150 * ms, 1, 0, 10, 3).switched(150 * ms, 0, 0, 0, 10);
    const auto recording = builder.decode();
    ASSERT_TRUE(recording);
    const CommandLife life =
        life_of_command(*recording, run_of_command(*recording, 10, begin_ns, begin_ns + 200 * ms));
    ASSERT_EQ(life.waits.size(), 2U);
    EXPECT_TRUE(life.waits[0].timed_out);
    EXPECT_FALSE(life.waits[1].timed_out);
}

TEST(RunOfCommand, EndsWithTheCommandTheParentOrTheRecording) {
    const auto recording = build().decode();
    ASSERT_TRUE(recording);
    const auto duration = [&](std::uint32_t pid, std::int64_t from, std::uint64_t to) {
        return run_of_command(*recording, pid, begin_ns + static_cast<std::uint64_t>(from),
                              begin_ns + to);
    };
    EXPECT_EQ(duration(10, 0, 150 * ms).duration_ns, 150 * ms) << "the parent saw the end";
    EXPECT_EQ(duration(10, 0, 300 * ms).duration_ns, 200 * ms) << "its thread ended before";
    EXPECT_EQ(duration(10, 5 * ms, 150 * ms).duration_ns, 145 * ms);
    EXPECT_EQ(duration(10, -5 * static_cast<std::int64_t>(ms), 150 * ms).duration_ns, 150 * ms)
        << "it began before the recording";
    EXPECT_EQ(duration(10, 150 * ms, 100 * ms).duration_ns, 0U);
    EXPECT_FALSE(duration(40, 0, 400 * ms).open);
    EXPECT_TRUE(duration(40, 0, 401 * ms).open) << "it ended after the recording";
    EXPECT_EQ(duration(40, 0, 401 * ms).duration_ns, 400 * ms);
    EXPECT_FALSE(duration(10, 0, 401 * ms).open);
}

}  // namespace
}  // namespace lagtrap::analysis::command_life_test
