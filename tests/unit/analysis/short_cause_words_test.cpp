// Every clause of short causes, for causes made by hand.
#include <gtest/gtest.h>

#include "analysis/short_cause.hpp"
#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::short_cause_words_test {
namespace {

using namespace test::made_causes;

std::string words(const ThreadDoing& doing, const std::vector<CauseLink>& chain = {}) {
    DelayCause cause;
    cause.doing = doing;
    cause.chain = chain;
    return short_cause(causes_of({cause}));
}

TEST(ShortCauseWords, OfComputing) {
    EXPECT_EQ(words(work_in("encode")), "Computed in encode");
    EXPECT_EQ(words(work_in("")), "Computed");
    ThreadDoing kernel = work_in("");
    kernel.kernel = "the kernel";
    EXPECT_EQ(words(kernel), "Computed in the kernel");
    ThreadDoing spins = work_in("take");
    spins.spin = SpinKind::Yield;
    EXPECT_EQ(words(spins), "Spun in take, calling sched_yield over and over");
    spins.focus = {};
    EXPECT_EQ(words(spins), "Spun, calling sched_yield over and over");
}

TEST(ShortCauseWords, OfWorkOfTheKernelThatIsMostOfTheTime) {
    ThreadDoing doing = work_in("fork_server");
    doing.work = KernelWork::CopyOnWrite;
    doing.work_ns = 60 * ms;
    EXPECT_FALSE(is_of_program(KernelWork::CoreDump));
    EXPECT_TRUE(is_of_program(KernelWork::CopyOnWrite));
    EXPECT_EQ(words(doing), "Computed in fork_server") << "the program asked for it";
    doing.work = KernelWork::CoreDump;
    EXPECT_EQ(words(doing), "Was in the kernel, " + std::string(to_text(KernelWork::CoreDump)));
    doing.work_ns = 59 * ms;
    EXPECT_EQ(words(doing), "Computed in fork_server");
    doing.work = KernelWork::None;
    doing.work_ns = 100 * ms;
    EXPECT_EQ(words(doing), "Computed in fork_server");
}

TEST(ShortCauseWords, OfWaitsForACpu) {
    ThreadDoing doing = doing_of(TimeKind::Runnable);
    doing.cpu.time_ns = 100 * ms;
    EXPECT_EQ(words(doing), "Waited for a CPU");
    CpuHolder holder_of_cpu;
    holder_of_cpu.pid = 500;
    holder_of_cpu.process = "make";
    doing.cpu.holders = {holder_of_cpu};
    EXPECT_EQ(words(doing), "Waited for a CPU that make used");
    doing.cpu.idle_ns = 50 * ms;
    EXPECT_EQ(words(doing), "Waited for a CPU that make used");
    doing.cpu.idle_ns += 1;
    EXPECT_EQ(words(doing), "Waited for a CPU") << "it was idle";
    doing.cpu.idle_ns = 0;
    doing.cpu.holders[0].process = "kworker/1:2-events";
    EXPECT_EQ(words(doing), "Waited for a CPU that a kernel worker used");
    doing.cpu.holders[0].process.clear();
    EXPECT_EQ(words(doing), "Waited for a CPU");
    doing.cpu.holders[0].pid = own_pid;
    EXPECT_EQ(words(doing), "Waited for a CPU that its own process used");
    doing.throttled = true;
    EXPECT_EQ(words(doing),
              "Waited for a CPU, because its control group had used up its CPU quota");
    ThreadDoing held_back = wait_for(WaitKind::Disk);
    held_back.held_back.disk = "vda";
    EXPECT_EQ(words(held_back), "Waited for the disk, because its control group was at its limit");
}

TEST(ShortCauseWords, OfWaits) {
    EXPECT_EQ(words(wait_for(WaitKind::Sleep, "nap")), "Slept in nap");
    EXPECT_EQ(words(wait_for(WaitKind::Sleep, "")), "Slept");
    ThreadDoing stopped = wait_for(WaitKind::Stopped);
    stopped.reason = "stopped by a signal";
    EXPECT_EQ(words(stopped), "Was stopped by a signal");
    EXPECT_EQ(words(wait_for(WaitKind::Disk, "load")), "Waited for the disk in load");
    ThreadDoing socket = wait_for(WaitKind::LocalSocket, "ask");
    socket.files.owner = "server";
    EXPECT_EQ(words(socket), "Waited on a local socket in ask") << "not for the other end";
    socket.files.kind = WaitFileKind::LocalPeer;
    EXPECT_EQ(words(socket), "Waited on a local socket to server");
    socket.files.owner.clear();
    EXPECT_EQ(words(socket), "Waited on a local socket in ask");
}

TEST(ShortCauseWords, OfUnknownTime) {
    const auto unknown = [](UnknownTime why) {
        ThreadDoing doing = doing_of(TimeKind::Unknown);
        doing.unknown = why;
        return words(doing);
    };
    EXPECT_EQ(unknown(UnknownTime::BeforeRecording), "Unknown: before the recording");
    EXPECT_EQ(unknown(UnknownTime::AfterRecording), "Unknown: after the recording");
    EXPECT_EQ(unknown(UnknownTime::BetweenThreads), "Unknown: passed from one thread to another");
    EXPECT_EQ(unknown(UnknownTime::InGoroutine), "Unknown: in a goroutine");
    EXPECT_EQ(unknown(UnknownTime::ThreadEnded), "Unknown: its thread had ended");
    EXPECT_EQ(unknown(UnknownTime::NotRecorded), "Unknown: not recorded");
}

TEST(ShortCauseWords, WhoeverWasWaitedForIsNamed) {
    const auto named = [](const ThreadName& who) {
        return words(wait_for(WaitKind::Lock), {link_of(who, doing_of(TimeKind::Unknown))});
    };
    const std::string text = "Waited for a lock held by ";
    EXPECT_EQ(named(holder), text + "its thread holder");
    EXPECT_EQ(named(name_of(own_pid, 12, "app", "")), text + "another of its threads");
    EXPECT_EQ(named(name_of(30, 31, "report", "reader")), text + "report");
    EXPECT_EQ(named(name_of(30, 31, "kworker/0:1", "x")), text + "a kernel worker");
    EXPECT_EQ(named(name_of(30, 31, "", "reader")), text + "reader");
    EXPECT_EQ(named(name_of(30, 31, "", "kworker/0:1")), text + "a kernel worker");
    EXPECT_EQ(named(name_of(30, 31, "", "")), text + "an unknown process");
}

TEST(ShortCauseWords, AProcessOfUnknownNumberIsNotItsOwn) {
    DelayCause cause;
    cause.doing = wait_for(WaitKind::Lock);
    cause.chain = {link_of(name_of(0, 31, "", "reader"), doing_of(TimeKind::Unknown))};
    DelayCauses causes = causes_of({cause});
    causes.who = name_of(0, 11, "", "");
    EXPECT_EQ(short_cause(causes), "Waited for a lock held by reader");
}

TEST(ShortCauseWords, TheLastOfAChainIsToldWithWhatItDid) {
    const CauseLink computes = link_of(other, work_in("burn"));
    EXPECT_EQ(words(wait_for(WaitKind::Lock), {computes}),
              "Waited for a lock held by other, which computed in burn");
    EXPECT_EQ(words(wait_for(WaitKind::Pipe), {computes}),
              "Waited on a pipe, for other, which computed in burn");
    const CauseLink waits = link_of(holder, wait_for(WaitKind::Lock, "second"));
    EXPECT_EQ(words(wait_for(WaitKind::Lock), {waits, computes}),
              "Waited for a lock held by its thread holder, which waited for other, which "
              "computed in burn");
    EXPECT_EQ(words(wait_for(WaitKind::Lock), {waits}),
              "Waited for a lock held by its thread holder, which waited for a lock in second");
    CauseLink guess = computes;
    guess.likely = true;
    EXPECT_EQ(words(wait_for(WaitKind::Lock, "take"), {guess}), "Waited for a lock in take");
    EXPECT_EQ(words(wait_for(WaitKind::Lock), {waits, guess}),
              "Waited for a lock held by its thread holder, which waited for a lock in second");
    CauseLink idle = computes;
    idle.doings.clear();
    EXPECT_EQ(words(wait_for(WaitKind::Lock), {idle}), "Waited for a lock held by other");
    EXPECT_EQ(words(work_in("encode"), {computes}), "Computed in encode");
}

TEST(ShortCauseWords, TheOtherEndIsNamedOnce) {
    ThreadDoing socket = wait_for(WaitKind::LocalSocket, "ask");
    socket.files.kind = WaitFileKind::LocalPeer;
    socket.files.owner = "other";
    const CauseLink computes = link_of(other, work_in("burn"));
    EXPECT_EQ(words(socket, {computes}),
              "Waited on a local socket to other, which computed in burn");
    socket.files.owner = "proxy";
    EXPECT_EQ(words(socket, {computes}),
              "Waited on a local socket to proxy, for other, which computed in burn");
}

TEST(ShortCauseWords, TheLongestCauseIsTold) {
    EXPECT_EQ(short_cause(causes_of({})), "Unknown");
    DelayCause first, second;
    first.doing = work_in("first");
    second.doing = work_in("second");
    EXPECT_EQ(short_cause(causes_of({first, second})), "Computed in first");
}

}  // namespace
}  // namespace lagtrap::analysis::short_cause_words_test
