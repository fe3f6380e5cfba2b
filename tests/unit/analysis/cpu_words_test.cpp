#include "analysis/cpu_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::cpu_words_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

CpuHolder holder(const std::string& process, std::uint32_t pid, std::uint64_t time_ms) {
    CpuHolder made;
    made.process = process;
    made.pid = made.tid = pid;
    made.threads = 1;
    made.time_ns = time_ms * ms;
    made.priority = 120;
    return made;
}

CpuWaits waits(std::vector<CpuHolder> holders, std::uint64_t time_ms = 100) {
    CpuWaits made;
    made.time_ns = time_ms * ms;
    made.cpus = {1};
    made.holders = std::move(holders);
    return made;
}

std::string words(const CpuWaits& cpu) {
    ThreadName who;
    who.pid = 10;
    who.tid = 11;
    return cpu_holder_words(cpu, who, "own.service");
}

TEST(CpuWords, SayIfTheWaitingThreadHasLowPriority) {
    CpuWaits cpu = waits({holder("report", 500, 60)});
    const std::string at_normal_priority = " while report (500) had CPU 1";
    const auto with = [&](std::uint16_t priority) {
        cpu.priority = priority;
        return words(cpu);
    };
    EXPECT_EQ(with(no_priority), at_normal_priority);
    EXPECT_EQ(with(49), at_normal_priority);
    EXPECT_EQ(with(100), at_normal_priority);
    EXPECT_EQ(with(120), at_normal_priority);
    EXPECT_EQ(with(121), " at low priority (nice 1)" + at_normal_priority);
    EXPECT_EQ(with(139), " at low priority (nice 19)" + at_normal_priority);
    EXPECT_EQ(with(idle_priority), " at idle priority (SCHED_IDLE)" + at_normal_priority);
}

TEST(CpuWords, SayThatARealTimeThreadWasThrottled) {
    CpuWaits cpu = waits({holder("report", 500, 60)});
    cpu.preempted_ns = 51 * ms;
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1") << "an ordinary thread";
    cpu.priority = 79;
    EXPECT_EQ(words(cpu),
              " at real-time priority 20 while report (500) had CPU 1: the kernel keeps some time "
              "for ordinary threads (real-time throttling)");
    cpu.preempted_ns = 50 * ms;
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1") << "it had mostly been woken";
    cpu.preempted_ns = 100 * ms;
    cpu.holders[0].time_ns = 50 * ms;
    EXPECT_EQ(words(cpu), " while others had it: report (500) 50.0 ms");
    cpu.holders[0].time_ns = 60 * ms;
    cpu.holders[0].priority = 49;
    EXPECT_EQ(words(cpu), " while report (500, real-time priority 50) had CPU 1");
    cpu.holders[0].priority = no_priority;
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1");
    cpu.idle_ns = 60 * ms;
    EXPECT_EQ(words(cpu),
              ", which was idle: probably the kernel's limit for real-time threads held it back");
}

TEST(CpuWords, NameWhoeverHadTheCpuMostOfTheTime) {
    CpuWaits cpu = waits({holder("report", 500, 60)});
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1");
    cpu.holders[0].function = "merge_rows(int)";
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1, in merge_rows");
    cpu.holders[0].caller = "main_loop";
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1, in merge_rows, called by main_loop");
    RequestPart part;
    part.request.event = "rebuild";
    part.request.end_ns = 70 * ms;
    cpu.holders[0].request = part;
    EXPECT_EQ(words(cpu),
              " while report (500) had CPU 1, in a run of \"rebuild\" that took 70.0 ms, in "
              "merge_rows, called by main_loop");
    cpu.holders[0].request.reset();
    cpu.holders[0].function = "[libc.so.6]";
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1");
    cpu.cpus = {1, 2};
    EXPECT_EQ(words(cpu), " while report (500) had it");
    cpu.elsewhere_ns = 50 * ms;
    EXPECT_EQ(words(cpu), " while report (500) had it");
    cpu.elsewhere_ns += 1;
    EXPECT_EQ(words(cpu), " while probably report (500) had it");
}

TEST(CpuWords, SayWhatIsUnknownOrIdle) {
    CpuWaits cpu = waits({holder("report", 500, 60)});
    cpu.unknown_ns = 50 * ms;
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1");
    cpu.unknown_ns = 50 * ms + 1;
    EXPECT_EQ(words(cpu), "; who had it is unknown");
    cpu.unknown_ns = 200 * ms;
    EXPECT_EQ(words(cpu), "; who had it is unknown");
    cpu.unknown_ns = 0;
    cpu.idle_ns = 50 * ms;
    EXPECT_EQ(words(cpu), " while report (500) had CPU 1");
    cpu.idle_ns = 60 * ms;
    EXPECT_EQ(words(cpu),
              ", which was idle: probably the CPU limit of its control group held it back");
    cpu.slow_wakeups_ns = 30 * ms;
    EXPECT_EQ(words(cpu),
              ", which was idle: probably the CPU limit of its control group held it back");
    cpu.slow_wakeups_ns += 1;
    EXPECT_EQ(words(cpu),
              ", which was idle: it was slow to wake up, or its virtual machine did not run");
    EXPECT_EQ(words(waits({})), "");
}

TEST(CpuWords, IdentifyAThreadByItsProcessUnitAndPriority) {
    CpuHolder one = holder("report", 500, 80);
    one.tid = 501;
    one.thread = "merger";
    one.unit = "own.service";
    EXPECT_EQ(words(waits({one})), " while merger (501) had CPU 1");
    one.unit = "backup.service";
    EXPECT_EQ(words(waits({one})), " while merger (501, backup.service) had CPU 1");
    one.priority = 99;
    EXPECT_EQ(words(waits({one})), " while merger (501, backup.service) had CPU 1");
    one.priority = 49;
    EXPECT_EQ(words(waits({one})),
              " while merger (501, real-time priority 50, backup.service) had CPU 1");
    one.threads = 2;
    EXPECT_EQ(words(waits({one})),
              " while report (500, real-time priority 50, backup.service) had CPU 1");
    one.pid = 10;
    one.threads = 1;
    EXPECT_EQ(words(waits({one})),
              " while merger (501, of its own process, real-time priority 50) had CPU 1");
    one.thread.clear();
    one.process.clear();
    one.priority = 120;
    EXPECT_EQ(words(waits({one})), " while an unknown process (501, of its own process) had CPU 1");
    one.pid = one.tid;
    one.thread = "named";
    one.unit.clear();
    EXPECT_EQ(words(waits({one})), " while named (501) had CPU 1");
    one.process = "report";
    EXPECT_EQ(words(waits({one})), " while report (501) had CPU 1") << "its first thread";
}

TEST(CpuWords, AlsoNameOthersThatHadAFifthOfTheTime) {
    EXPECT_EQ(words(waits(
                  {holder("report", 500, 60), holder("backup", 600, 20), holder("cron", 700, 19)})),
              " while report (500) had CPU 1, and backup (600) for 20.0 ms");
}

TEST(CpuWords, MergeProcessesOfOneName) {
    CpuHolder urgent = holder("make", 504, 15);
    urgent.priority = 49;
    EXPECT_EQ(words(waits({holder("cc1", 500, 30), holder("cc1", 501, 20), holder("cc1", 502, 10),
                           urgent})),
              " while cc1 (3 threads) had CPU 1");
    std::vector<CpuHolder> units{holder("cc1", 500, 40), holder("cc1", 501, 30)};
    units[0].unit = units[1].unit = "a.service";
    EXPECT_EQ(words(waits(units)), " while cc1 (2 threads, a.service) had CPU 1");
    units[1].unit = "b.service";
    EXPECT_EQ(words(waits(units)), " while cc1 (2 threads) had CPU 1");
}

TEST(CpuWords, ListTheFirstThreeIfNobodyHadItMostOfTheTime) {
    EXPECT_EQ(words(waits({holder("a", 500, 30), holder("b", 501, 15), holder("c", 502, 20),
                           holder("d", 503, 10)})),
              " while others had it: a (500) 30.0 ms, c (502) 20.0 ms, b (501) 15.0 ms");
    // Those of one name stay apart if their priorities differ.
    std::vector<CpuHolder> urgent{holder("a", 500, 40), holder("a", 501, 35)};
    urgent[1].priority = 49;
    EXPECT_EQ(words(waits(urgent)),
              " while others had it: a (500) 40.0 ms, a (501, real-time "
              "priority 50) 35.0 ms");
}

TEST(CpuWords, SumUpTheOtherThreadsOfItsOwnProcess) {
    CpuHolder own = holder("app", 10, 70);
    own.threads = 4;
    EXPECT_EQ(words(waits({own})), " while other threads of its own process had CPU 1");
    own.priority = 49;
    EXPECT_EQ(words(waits({own})),
              " while other threads of its own process (real-time priority 50) had CPU 1");
}

TEST(CpuWords, NameAUnitOnlyIfItIsAnother) {
    EXPECT_EQ(other_unit("", "own.service"), "");
    EXPECT_EQ(other_unit("own.service", "own.service"), "");
    EXPECT_EQ(other_unit("other.service", "own.service"), ", other.service");
}

}  // namespace
}  // namespace lagtrap::analysis::cpu_words_test
