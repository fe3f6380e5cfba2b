// How the sentences of causes say what ended waits, and who was waited for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::cause_link_tests {
namespace {

using namespace test::made_causes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(CauseLinks, TimeoutsEndWaits) {
    ThreadDoing lock = with_end(wait_for(WaitKind::DatabaseLock), WaitEnd::Timeout);
    EXPECT_EQ(sentence_of(lock),
              "Waited 100 ms (50 %) for a lock of the database in serve, until it timed out.");
    lock.count = 2;
    EXPECT_EQ(sentence_of(lock),
              "Waited 100 ms (50 %) for a lock of the database in serve, trying again each time.");
    ThreadDoing events = with_end(wait_for(WaitKind::Events), WaitEnd::Timeout);
    events.count = 2;
    EXPECT_EQ(sentence_of(events), "Waited 100 ms (50 %) for events in serve, until it timed out.");
}

TEST(CauseLinks, AWaitThatGoesOnHasAHolderIfItIsForALock) {
    const auto end_of = [](WaitKind wait, std::uint32_t holder_pid) {
        ThreadDoing doing = with_end(wait_for(wait), WaitEnd::NotYet);
        doing.files.holder_pid = holder_pid;
        doing.files.holder = "other";
        const std::string sentence = sentence_of(doing);
        return sentence.substr(sentence.find(", which"));
    };
    const std::string text = ", which was still going on when the recording ended";
    for (const WaitKind wait : {WaitKind::Lock, WaitKind::ReadWriteLock, WaitKind::PythonLock,
                                WaitKind::FileLock, WaitKind::DatabaseLock, WaitKind::RowLock}) {
        EXPECT_EQ(end_of(wait, 0), text + "; its holder is unknown.");
        EXPECT_EQ(end_of(wait, 30), text + "; other (30) holds it.");
    }
    for (const WaitKind wait : {WaitKind::Signal, WaitKind::Events, WaitKind::KernelLock,
                                WaitKind::MemoryMap, WaitKind::InterpreterLock})
        EXPECT_EQ(end_of(wait, 30), text + ".");
}

TEST(CauseLinks, InterruptsThatEndWaitsAreNamed) {
    const auto sentence = [](WaitKind wait, WakeCause cause) {
        ThreadDoing doing = with_end(wait_for(wait, ""), WaitEnd::Interrupt);
        doing.interrupt = cause;
        return sentence_of(doing);
    };
    EXPECT_EQ(sentence(WaitKind::Events, WakeCause::Timer),
              "Waited 100 ms (50 %) for events, until a timer ended the wait.");
    EXPECT_EQ(sentence(WaitKind::Events, WakeCause::Packet),
              "Waited 100 ms (50 %) for events, until a packet from the network ended the wait.");
    EXPECT_EQ(sentence(WaitKind::Network, WakeCause::DelayedAck),
              "Waited 100 ms (50 %) on a network connection, until TCP's delayed ACK let the "
              "other side send what it had held back (without TCP_NODELAY).");
    ThreadDoing lock = with_end(wait_for(WaitKind::FileLock, ""), WaitEnd::Interrupt);
    lock.interrupt = WakeCause::Timer;
    lock.files.holder_pid = 30;
    lock.files.holder = "other";
    EXPECT_EQ(sentence_of(lock),
              "Waited 100 ms (50 %) for a file lock, until a timer ended the wait; other (30) "
              "held it.");
    lock.wait = WaitKind::Lock;
    EXPECT_EQ(sentence_of(lock), "Waited 100 ms (50 %) for a lock, until a timer ended the wait.");
}

// Nobody needs to be told that a timer ends a sleep, or a disk a wait for it.
TEST(CauseLinks, WhatAlwaysEndsSuchWaitsIsLeftOut) {
    for (const WaitKind wait :
         {WaitKind::Disk, WaitKind::PageFault, WaitKind::Sleep, WaitKind::Stopped, WaitKind::Memory,
          WaitKind::GroupMemory, WaitKind::CpuLimit})
        for (const WaitEnd end : {WaitEnd::Interrupt, WaitEnd::Unknown})
            EXPECT_THAT(sentence_of(with_end(wait_for(wait), end)),
                        Not(HasSubstr("ended the wait")));
    ThreadDoing grace = wait_for(WaitKind::Other);
    grace.block = BlockReason::RcuGracePeriod;
    EXPECT_THAT(sentence_of(grace), Not(HasSubstr("ended the wait")));
    for (const WaitKind wait : {WaitKind::Events, WaitKind::Lock, WaitKind::Network})
        EXPECT_THAT(sentence_of(wait_for(wait)),
                    HasSubstr(" in serve; what ended the wait is unknown."));
}

TEST(CauseLinks, OneOrSeveralThreadsEndTheWaits) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Child), other);
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a child process in serve, until other (30) ended.");
    doing.count = 2;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a child process in serve, until other (30) woke it.");
    doing.wakers[0].time_ns = 70 * ms;
    doing.waker_count = 4;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a child process in serve, ended by 4 threads, most of it "
              "by other (30) (70 %).");
    doing.turns = 3;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a child process in serve; 3 threads had it in turn "
              "meanwhile, other (30) for the longest time (70 %).");
    doing.wakers.clear();
    EXPECT_EQ(sentence_of(doing), "Waited 100 ms (50 %) for a child process in serve.");
}

TEST(CauseLinks, ASignalMayEndAWait) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Events), other);
    doing.interruption = Interruption::Signal;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for events in serve, until other (30) sent it a signal.");
    doing.interruption = Interruption::Killed;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for events in serve, until other (30) killed it.");
}

ThreadDoing outlasting(WaitKind wait, const ThreadName& who) {
    ThreadDoing doing = ended_by(wait_for(wait), who);
    doing.outlasts = true;
    return doing;
}

std::string end_of_outlasting(const ThreadDoing& doing) {
    const std::string sentence = sentence_of(doing);
    return sentence.substr(sentence.find(" in serve") + 9);
}

TEST(CauseLinks, AHolderThatHoldsOnIsNamed) {
    EXPECT_EQ(end_of_outlasting(outlasting(WaitKind::Lock, holder)), ", which holder (12) holds.");
    EXPECT_EQ(end_of_outlasting(outlasting(WaitKind::Lock, worker)),
              ", which it holds itself (a deadlock).");
    ThreadDoing doing = outlasting(WaitKind::Lock, holder);
    doing.timed_out = true;
    EXPECT_EQ(end_of_outlasting(doing), ", which holder (12) held, until it timed out.");
    doing.timed_out = false;
    doing.interruption = Interruption::Signal;
    doing.interrupter = other;
    EXPECT_EQ(end_of_outlasting(doing),
              ", which holder (12) held, until other (30) sent it a signal.");
    EXPECT_EQ(end_of_outlasting(outlasting(WaitKind::ReadWriteLock, holder)),
              ", which holder (12) holds.");
}

TEST(CauseLinks, AGuessIsNoHolder) {
    ThreadDoing doing = outlasting(WaitKind::Lock, holder);
    doing.likely = true;
    const std::string text = ", which was still going on when the recording ended";
    EXPECT_EQ(end_of_outlasting(doing), text + "; its holder is unknown.");
    doing.wait = WaitKind::ReadWriteLock;
    EXPECT_EQ(end_of_outlasting(doing), text + "; its holder is unknown.");
    doing.wait = WaitKind::Signal;
    EXPECT_EQ(end_of_outlasting(doing), text + ".");
    doing.timed_out = true;
    EXPECT_EQ(end_of_outlasting(doing), ", until it timed out.");
}

TEST(CauseLinks, AnEndThatDoesNotComeIsTold) {
    for (const WaitKind wait : {WaitKind::Child, WaitKind::ThreadEnd}) {
        ThreadDoing doing = outlasting(wait, other);
        EXPECT_EQ(end_of_outlasting(doing), ", which had not ended: other (30).");
        doing.timed_out = true;
        EXPECT_EQ(end_of_outlasting(doing), ", which had not ended in time: other (30).");
        doing.interruption = Interruption::Killed;
        doing.interrupter = holder;
        EXPECT_EQ(end_of_outlasting(doing),
                  ", until holder (12) killed it; other (30) had not ended.");
    }
    EXPECT_EQ(end_of_outlasting(outlasting(WaitKind::Pipe, other)),
              ", which was still going on when the recording ended.");
}

TEST(CauseLinks, ThreadsThatWaitForEachOtherAreInADeadlock) {
    const ThreadDoing own = outlasting(WaitKind::Lock, holder);
    EXPECT_THAT(
        sentence_of(own, {link_of(holder, outlasting(WaitKind::Lock, worker))}),
        HasSubstr("in serve, which holder (12) holds; meanwhile holder (12) waited 100 ms for a "
                  "lock in serve, which worker (11) holds: these threads wait for each other (a "
                  "deadlock)."));
    EXPECT_THAT(sentence_of(own, {link_of(holder, outlasting(WaitKind::Lock, other))}),
                HasSubstr("in serve, which other (30) holds."));
}

ThreadDoing lock_wait() { return ended_by(wait_for(WaitKind::Lock), holder); }

TEST(CauseLinks, AKnownLockIsHeldByItsHolder) {
    CauseLink link = link_of(holder, work_in("hold"));
    link.doings[0].time_ns = 59 * ms;
    ThreadDoing doing = lock_wait();
    const std::string until =
        "Waited 100 ms (50 %) for a lock in serve, until holder (12) released it; meanwhile "
        "holder (12) computed for 59.0 ms in hold.";
    const std::string held =
        "Waited 100 ms (50 %) for a lock in serve, which holder (12) held; meanwhile holder (12) "
        "computed for 59.0 ms in hold.";
    // What it did is mostly unknown, and so is the lock.
    EXPECT_EQ(sentence_of(doing, {link}), until);
    doing.object_known = true;
    EXPECT_EQ(sentence_of(doing, {link}), held);
    doing.count = doing.waker_count = 2;
    EXPECT_EQ(sentence_of(doing, {link}), until);
    doing.waker_count = 1;
    EXPECT_EQ(sentence_of(doing, {link}), held);
    doing.count = 1;
    doing.waker_count = 2;
    EXPECT_EQ(sentence_of(doing, {link}), held);
}

TEST(CauseLinks, AHolderThatWaitedForNoLockHeldThisOne) {
    CauseLink link = link_of(holder, work_in("hold"));
    link.doings[0].time_ns = 60 * ms;
    EXPECT_THAT(sentence_of(lock_wait(), {link}), HasSubstr(", which holder (12) held; "));
    // It may have waited for the same lock.
    for (const WaitKind wait :
         {WaitKind::Lock, WaitKind::Futex, WaitKind::KernelLock, WaitKind::FileLock}) {
        CauseLink in_lock = link;
        in_lock.doings.push_back(ended_by(wait_for(wait), other));
        EXPECT_THAT(sentence_of(lock_wait(), {in_lock}),
                    HasSubstr(", until holder (12) released it; "));
    }
    CauseLink asleep = link;
    asleep.doings.push_back(wait_for(WaitKind::Disk));
    EXPECT_THAT(sentence_of(lock_wait(), {asleep}), HasSubstr(", which holder (12) held; "));
    CauseLink unknown = link_of(holder, doing_of(TimeKind::Unknown));
    EXPECT_THAT(sentence_of(lock_wait(), {unknown}),
                HasSubstr(", until holder (12) released it; meanwhile holder (12) was not recorded "
                          "for 100 ms."));
    // Of waits that are for no lock, nobody is a holder.
    EXPECT_THAT(sentence_of(ended_by(wait_for(WaitKind::Signal), holder), {link}),
                HasSubstr(", until holder (12) gave it; "));
    ThreadDoing again = lock_wait();
    again.count = again.waker_count = 2;
    EXPECT_THAT(sentence_of(again, {link}), HasSubstr(", until holder (12) released it; "));
    again.wait = WaitKind::InterpreterLock;
    EXPECT_THAT(sentence_of(again, {link}), HasSubstr(", which holder (12) held; "));
}

TEST(CauseLinks, ThreadsOfOneNameAreCounted) {
    CauseLink link = link_of(holder, doing_of(TimeKind::Unknown));
    link.alike = 1;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr(", until holder (12) and another thread with that name released it; "));
    link.alike = 2;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr(", until holder (12) and 2 other threads with that name released it; "));
    ThreadDoing children = lock_wait();
    children.wait = WaitKind::Child;
    children.count = children.waker_count = 3;
    EXPECT_THAT(sentence_of(children, {link}),
                HasSubstr(", until holder (12) and 2 other processes with that name ended; "));
    ThreadDoing known = lock_wait();
    known.object_known = true;
    EXPECT_THAT(sentence_of(known, {link}), HasSubstr(", until holder (12) and 2 other threads"));
}

TEST(CauseLinks, WhoBeganLateHeldNobodyUp) {
    CauseLink link = link_of(other, work_in("thaw"));
    link.began_after_ns = 50 * ms;
    EXPECT_EQ(sentence_of(ended_by(wait_for(WaitKind::FrozenFiles), other), {link}),
              "Waited 100 ms (50 %) to write to a frozen file system in serve, until other (30) "
              "thawed it; meanwhile other (30) computed for 100 ms in thaw.");
    link.began_after_ns = 51 * ms;
    EXPECT_EQ(sentence_of(ended_by(wait_for(WaitKind::FrozenFiles), other), {link}),
              "Waited 100 ms (50 %) to write to a frozen file system in serve, until other (30) "
              "(which began 51.0 ms after that) thawed it.");
}

TEST(CauseLinks, ALockThatWentFromHandToHand) {
    CauseLink link = link_of(holder, work_in("hold"));
    link.whole_ns = 80 * ms;
    ThreadDoing doing = lock_wait();
    doing.turns = 2;
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr(" in serve, which holder (12) held for 80.0 ms; 1 other thread got it "
                          "before this one; meanwhile holder (12) computed"));
    doing.turns = 3;
    doing.count = 2;
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr(", which holder (12) held for 80.0 ms; 2 other threads got it "
                          "meanwhile; meanwhile holder"));
    doing.wait = WaitKind::Signal;
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr(", until 2 other threads had handed it on; holder (12) had it for 80.0 "
                          "ms; meanwhile holder"));
}

TEST(CauseLinks, TheChainGoesOnWithWhatWasWaitedFor) {
    CauseLink first = link_of(holder, ended_by(wait_for(WaitKind::Lock, "second"), other));
    first.doings.push_back(work_in("left_out"));
    const CauseLink second = link_of(other, work_in("burn"));
    EXPECT_EQ(sentence_of(lock_wait(), {first, second}),
              "Waited 100 ms (50 %) for a lock in serve, until holder (12) released it; meanwhile "
              "holder (12) waited 100 ms for a lock in second, which other (30) held; meanwhile "
              "other (30) computed for 100 ms in burn.");
    // The last one has all that it did.
    EXPECT_THAT(sentence_of(lock_wait(), {first}),
                HasSubstr("holder (12) waited 100 ms for a lock in second, until other (30) "
                          "released it and computed for 100 ms in left_out."));
}

TEST(CauseLinks, OtherThreadsHaveACaller) {
    CauseLink link = link_of(holder, work_in("burn"));
    link.doings[0].focus.direct_caller = "store::rebuild(int)";
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("computed for 100 ms in burn, called by store::rebuild."));
    link.doings[0].kernel = "clear_page of the kernel";
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("in clear_page of the kernel, called by burn."));
    link.doings[0].kernel.clear();
    link.doings[0].focus.caller = "elsewhere";
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("computed for 100 ms in burn, called by elsewhere."));
    ThreadDoing own = work_in("burn");
    own.focus.direct_caller = "rebuild";
    EXPECT_EQ(sentence_of(own), "Computed for 100 ms (50 %) in burn.");
    own.focus.time_ns = 9'400;
    own.focus.direct_caller_ns = 10'000;
    EXPECT_EQ(sentence_of(own), "Computed for 100 ms (50 %) in burn, called by rebuild.");
    own.focus.time_ns = 9'600;
    EXPECT_EQ(sentence_of(own), "Computed for 100 ms (50 %) in burn.");
}

TEST(CauseLinks, TheWorkOfALinkIsSaidFirst) {
    CauseLink link = link_of(holder, work_in("list"));
    link.work = KernelWork::CoreDump;
    link.doings[0].work = KernelWork::CoreDump;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("; meanwhile holder (12) was writing its core dump: it computed for 100 "
                          "ms in the kernel."));
    link.work = link.doings[0].work = KernelWork::ReadingFolder;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("was reading a folder: it computed for 100 ms in the kernel, called by "
                          "list."));
    link.doings[0].focus = in_function("iterate_dir", std::string(kernel_path));
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("it computed for 100 ms in the kernel."));
    link.doings[0] = with_end(wait_for(WaitKind::Disk, "read"), WaitEnd::Interrupt);
    link.doings[0].work = KernelWork::ReadingFolder;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("was reading a folder: it waited 100 ms for the disk."));
}

TEST(CauseLinks, ALinkMayBeInARunOfItsOwn) {
    RequestPart part;
    part.request.event = "query";
    part.request.begin_ns = 100 * ms;
    part.request.end_ns = 400 * ms;
    CauseLink link = link_of(holder, work_in("sort"));
    link.request = part;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("meanwhile holder (12), in a run of \"query\" that took 300 ms, "
                          "computed for"));
    link.request->request.open = true;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("holder (12), in a run of \"query\" that had taken 300 ms and not "
                          "ended, computed for"));
}

TEST(CauseLinks, ALikelyLinkIsSaidToBeAGuess) {
    ThreadDoing doing = outlasting(WaitKind::Signal, holder);
    doing.likely = true;
    CauseLink link = link_of(holder, work_in("burn"));
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr("when the recording ended; the only other busy thread of its process, "
                          "perhaps with unrelated work, was holder (12): it computed for 100 ms "
                          "in burn."));
    link.work = KernelWork::CoreDump;
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr("was holder (12), which was writing its core dump: it computed"));
    doing.files.kind = WaitFileKind::Pipe;
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr("; the only busy thread at the other end, perhaps with unrelated work, "
                          "was holder (12)"));
}

TEST(CauseLinks, WhatALinkDidBeforeTheRecordingIsUnknown) {
    CauseLink link = link_of(holder, doing_of(TimeKind::Unknown));
    link.doings[0].unknown = UnknownTime::BeforeRecording;
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("released it; what it did meanwhile was not recorded."));
    link.doings.push_back(work_in("burn"));
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("; meanwhile holder (12) computed for 100 ms in burn."));
    link.doings.clear();
    EXPECT_THAT(sentence_of(lock_wait(), {link}), testing::EndsWith("released it."));
}

TEST(CauseLinks, WaitsWithinWorkOfTheKernelSayWhichWork) {
    ThreadDoing doing = disk_wait(data_file());
    doing.work = KernelWork::ReadingFolder;
    doing.work_ns = doing.time_ns;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for the disk in load (/srv/data on vda), reading a folder.");
    doing.work_ns = 10 * ms;
    EXPECT_THAT(sentence_of(doing), HasSubstr(", 10 % of it reading a folder."));
}

TEST(CauseLinks, WhatADiskWroteIsSaidLast) {
    ThreadDoing doing = disk_wait(data_file());
    doing.written.bytes = 20 * mib;
    doing.written.files = 1;
    doing.written.disk = "vda";
    doing.written.path = "/big";
    doing.written.writer_pid = own_pid;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for the disk in load (/srv/data on vda); meanwhile vda wrote "
              "20.0 MiB of /big, which it has open for writing itself.");
    EXPECT_THAT(sentence_of(ended_by(doing, other), {link_of(other, work_in("burn"))}),
                HasSubstr("computed for 100 ms in burn; meanwhile vda wrote 20.0 MiB of /big, "
                          "which it has open for writing itself."));
    // For another thread, "itself" is that thread's process.
    CauseLink link = link_of(other, doing);
    EXPECT_THAT(sentence_of(lock_wait(), {link}),
                HasSubstr("20.0 MiB of /big, which process 10 has open for writing."));
}

TEST(CauseLinks, PageFaultsNameTheFileThatOtherPartsWaitedFor) {
    DelayCause computed, waited;
    computed.doing = work_in("sum");
    computed.doing.in_page_faults = true;
    waited.doing = disk_wait(data_file(), WaitKind::PageFault);
    waited.doing.focus = in_function("sum");
    waited.doing.time_ns = 10 * ms;
    const std::string text = "Computed for 100 ms (50 %) in sum";
    EXPECT_EQ(sentence_of(causes_of({computed, waited})), text + " (/srv/data on vda).");
    const auto unnamed = [&](const DelayCause& first, const DelayCause& second) {
        return sentence_of(causes_of({first, second})) == text + ".";
    };
    DelayCause shorter = waited, elsewhere = waited, of_disk = waited, elsewise = computed;
    shorter.doing.time_ns -= 1;
    elsewhere.doing.focus = in_function("load");
    of_disk.doing.wait = WaitKind::Disk;
    elsewise.doing.in_page_faults = false;
    CauseLink link = link_of(holder, computed.doing);
    DelayCause of_other;
    of_other.doing = lock_wait();
    of_other.chain = {link};
    EXPECT_THAT(sentence_of(causes_of({of_other, waited})), Not(HasSubstr("/srv/data")))
        << "it is what the delay's own thread waited for";
    EXPECT_TRUE(unnamed(computed, shorter));
    EXPECT_TRUE(unnamed(computed, elsewhere));
    EXPECT_TRUE(unnamed(computed, of_disk));
    EXPECT_TRUE(unnamed(elsewise, waited));
}

DelayCause of_time(TimeKind kind, std::uint64_t time_ns) {
    DelayCause cause;
    cause.doing = doing_of(kind);
    cause.doing.time_ns = time_ns;
    return cause;
}

TEST(CauseLinks, AtMostThreeCausesOfATwentiethAreReported) {
    const auto reported = [](std::initializer_list<std::uint64_t> times_ms) {
        std::vector<DelayCause> causes;
        for (const std::uint64_t time : times_ms)
            causes.push_back(of_time(TimeKind::OnCpu, time * ms));
        return causes_of(std::move(causes)).reported();
    };
    EXPECT_EQ(reported({}), 0U);
    EXPECT_EQ(reported({1}), 1U);
    EXPECT_EQ(reported({100, 10}), 2U);
    EXPECT_EQ(reported({100, 9}), 1U);
    EXPECT_EQ(reported({100, 40, 30, 30}), 3U);
}

TEST(CauseLinks, TheRestIsSummedUpByKind) {
    const auto rest = [](std::vector<DelayCause> causes) {
        causes.insert(causes.begin(), of_time(TimeKind::OnCpu, 180 * ms));
        const auto sentences = cause_sentences(causes_of(std::move(causes)));
        return sentences.size() == 1 ? "" : sentences.back();
    };
    EXPECT_EQ(rest({of_time(TimeKind::OnCpu, 9 * ms)}), "The rest: 9.00 ms on a CPU.");
    EXPECT_EQ(rest({of_time(TimeKind::Unknown, 4 * ms), of_time(TimeKind::Blocked, 3 * ms),
                    of_time(TimeKind::Runnable, 2 * ms), of_time(TimeKind::OnCpu, 1 * ms),
                    of_time(TimeKind::Blocked, 1 * ms)}),
              "The rest: 1.00 ms on a CPU, 2.00 ms waiting for a CPU, 4.00 ms blocked, 4.00 ms "
              "not recorded.");
    // A kind of less than half a percent is left out, and so is a rest of less than one.
    EXPECT_EQ(rest({of_time(TimeKind::Blocked, 2 * ms), of_time(TimeKind::OnCpu, ms - 1)}),
              "The rest: 2.00 ms blocked.");
    EXPECT_EQ(rest({of_time(TimeKind::Blocked, 2 * ms - 1)}), "");
    EXPECT_EQ(rest({of_time(TimeKind::Blocked, 2 * ms)}), "The rest: 2.00 ms blocked.");
    EXPECT_EQ(rest({}), "");
}

TEST(CauseLinks, EachCauseHasASentence) {
    const std::vector<DelayCause> causes{of_time(TimeKind::OnCpu, 100 * ms),
                                         of_time(TimeKind::Unknown, 60 * ms),
                                         of_time(TimeKind::OnCpu, 40 * ms)};
    EXPECT_THAT(cause_sentences(causes_of(causes)),
                ElementsAre("Computed for 100 ms (50 %) in serve.",
                            "For 60.0 ms (30 %), there is no record of what the thread did.",
                            "Computed for 40.0 ms (20 %) in serve."));
}

}  // namespace
}  // namespace lagtrap::analysis::cause_link_tests
