// The sentences of causes made by hand: every clause and when it is left out. For how waits ended,
// see cause_link_tests.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/analysis/made_causes.hpp"

namespace lagtrap::analysis::cause_words_test {
namespace {

using namespace test::made_causes;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CauseWords, TimeOnACpuHasAPlaceAndAShare) {
    EXPECT_EQ(sentence_of(work_in("encode")), "Computed for 100 ms (50 %) in encode.");
    ThreadDoing doing = work_in("encode");
    doing.handler = "on_alarm";
    EXPECT_EQ(sentence_of(doing),
              "Computed for 100 ms (50 %) in encode, in the signal handler on_alarm.");
}

TEST(CauseWords, WorkOfTheKernelHasItsShareUnlessItIsMostOfTheTime) {
    ThreadDoing doing = work_in("encode");
    doing.work = KernelWork::Fork;
    doing.work_ns = 60 * ms;
    EXPECT_EQ(sentence_of(doing),
              "Computed for 100 ms (50 %) in encode, copying the memory map for a fork.");
    doing.work_ns = 59 * ms;
    EXPECT_EQ(
        sentence_of(doing),
        "Computed for 100 ms (50 %) in encode, 59 % of it copying the memory map for a fork.");
}

MemoryOfGroup group_of(std::uint32_t pid, const std::string& path = "/shop") {
    MemoryOfGroup group;
    group.memory.pid = pid;
    group.memory.limit_bytes = 80 * mib;
    group.memory.used_bytes = 80 * mib;
    group.path = path;
    return group;
}

TEST(CauseWords, FreeingTheMemoryOfAGroupNamesItsLimit) {
    ThreadDoing doing = work_in("fill");
    doing.work = KernelWork::GroupReclaim;
    doing.work_ns = doing.time_ns;
    const std::string text =
        "Computed for 100 ms (50 %) in fill, freeing memory of its control group, which was at "
        "its memory limit";
    EXPECT_EQ(sentence_of(doing), text + ".");
    EXPECT_EQ(sentence_of(doing, group_of(own_pid)), text + "; the limit of /shop is 80.0 MiB.");
    EXPECT_EQ(sentence_of(doing, group_of(own_pid, "")), text + "; the limit is 80.0 MiB.");
    EXPECT_EQ(sentence_of(doing, group_of(99)), text + ".");
    doing.work = KernelWork::MachineReclaim;
    EXPECT_EQ(sentence_of(doing, group_of(own_pid)),
              "Computed for 100 ms (50 %) in fill, freeing memory, because the machine was low on "
              "memory.");
}

TEST(CauseWords, WaitsForMemoryNameTheGroupAndItsLimit) {
    const ThreadDoing doing = with_end(wait_for(WaitKind::GroupMemory, "fill"), WaitEnd::Timeout);
    EXPECT_EQ(sentence_of(doing, group_of(own_pid)),
              "Waited 100 ms (50 %) for memory of its control group /shop in fill: it was at its "
              "limit of 80.0 MiB.");
    // Of another process, or without a limit, only its own unit is known.
    MemoryOfGroup unlimited = group_of(own_pid);
    unlimited.memory.limit_bytes = 0;
    for (const MemoryOfGroup& group : {group_of(99), unlimited, MemoryOfGroup{}})
        EXPECT_EQ(sentence_of(doing, group),
                  "Waited 100 ms (50 %) for memory of its control group app.service in fill: it "
                  "was at its limit.");
    EXPECT_EQ(sentence_of(with_end(wait_for(WaitKind::Memory, "fill"), WaitEnd::Timeout)),
              "Waited 100 ms (50 %) for memory in fill: the machine was low on memory.");
    ThreadDoing freeing = doing;
    freeing.work = KernelWork::GroupReclaim;
    EXPECT_THAT(sentence_of(freeing), Not(HasSubstr("freeing memory")));
}

TEST(CauseWords, SpinningSaysHowAndForWhat) {
    ThreadDoing doing = work_in("take");
    doing.spin = SpinKind::Yield;
    EXPECT_EQ(sentence_of(doing),
              "Spun for 100 ms (50 %) in take, calling sched_yield over and over; who held what "
              "it waited for is unknown.");
    doing.yields = 1;
    EXPECT_THAT(sentence_of(doing), HasSubstr(" over and over (yielding the CPU 1 time); who"));
    doing.yields = 7;
    EXPECT_THAT(sentence_of(doing), HasSubstr(" over and over (yielding the CPU 7 times); who"));
    doing.focus = {};
    EXPECT_THAT(sentence_of(doing), HasSubstr("Spun for 100 ms (50 %), calling sched_yield"));
    CauseLink link = link_of(holder, work_in("compact"));
    EXPECT_THAT(sentence_of(doing, {link}),
                AllOf(HasSubstr("7 times), probably for a lock that holder (12) held; meanwhile "
                                "holder (12) computed for 100 ms in compact."),
                      Not(HasSubstr("unknown"))));
    link.operation = "store::compact(int)";
    EXPECT_THAT(sentence_of(doing, {link}),
                HasSubstr("that holder (12) held in store::compact; meanwhile"));
}

TEST(CauseWords, WaitsForACpuAreHeldUpByAQuotaOrAnother) {
    ThreadDoing doing = doing_of(TimeKind::Runnable);
    doing.cpu.time_ns = 100 * ms;
    doing.cpu.cpus = {3};
    CpuHolder one;
    one.process = "make";
    one.pid = one.tid = 500;
    one.unit = "app.service";
    one.threads = 1;
    one.time_ns = 90 * ms;
    one.priority = 120;
    doing.cpu.holders = {one};
    EXPECT_EQ(sentence_of(doing), "Waited 100 ms (50 %) for a CPU while make (500) had CPU 3.");
    doing.throttled = true;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a CPU: its control group had used up its CPU quota.");
}

TEST(CauseWords, UnknownTimeSaysWhy) {
    const auto sentence = [](UnknownTime why) {
        ThreadDoing doing = doing_of(TimeKind::Unknown);
        doing.unknown = why;
        return sentence_of(doing);
    };
    EXPECT_EQ(sentence(UnknownTime::BeforeRecording),
              "100 ms (50 %) had passed before the recording began.");
    EXPECT_EQ(sentence(UnknownTime::AfterRecording),
              "100 ms (50 %) came after the recording ended.");
    EXPECT_EQ(sentence(UnknownTime::BetweenThreads),
              "For 100 ms (50 %), it is not known which thread had the run: it passed from one "
              "thread to another, at a moment that no marker shows.");
    EXPECT_EQ(sentence(UnknownTime::ThreadEnded),
              "For 100 ms (50 %), its thread had already ended.");
    EXPECT_EQ(sentence(UnknownTime::NotRecorded),
              "For 100 ms (50 %), there is no record of what the thread did.");
}

TEST(CauseWords, AGoroutineMayBeOnAnyThreadOfItsProcess) {
    DelayCause cause;
    cause.doing = doing_of(TimeKind::Unknown);
    cause.doing.unknown = UnknownTime::InGoroutine;
    DelayCauses causes = causes_of({cause});
    causes.who.thread = "goroutine 34";
    const std::string text =
        "For 100 ms (50 %), the run was in goroutine 34. Goroutines can change threads at any "
        "time, so its time cannot be separated from that of others.";
    EXPECT_EQ(sentence_of(causes), text + " Meanwhile, no thread of its process computed.");
    causes.causes[0].of_process = work_in("main.encode");
    causes.causes[0].of_process.focus.direct_caller = "main.serve";
    EXPECT_EQ(sentence_of(causes),
              text +
                  " Meanwhile, threads of its process computed for 100 ms in main.encode, "
                  "called by main.serve.");
}

DelayCauses handed_over(std::vector<HandOver> hand_overs, std::vector<CauseLink> chain = {}) {
    DelayCause cause;
    cause.doing = doing_of(TimeKind::Unknown);
    cause.doing.unknown = UnknownTime::BetweenThreads;
    cause.hand_overs = std::move(hand_overs);
    cause.chain = std::move(chain);
    return causes_of({cause});
}

TEST(CauseWords, TheLongestHandOverIsTold) {
    const HandOver first{worker, holder, 0, 20 * ms}, second{holder, worker, 30 * ms, 60 * ms};
    const HandOver third{worker, holder, 70 * ms, 100 * ms};
    EXPECT_EQ(sentence_of(handed_over({first})),
              "For 100 ms (50 %), it is not known which thread had the run: it passed from worker "
              "(11) to holder (12) between its begin and 20.0 ms, at a moment that no marker "
              "shows.");
    EXPECT_EQ(sentence_of(handed_over({first, second})),
              "For 100 ms (50 %), it is not known which thread had the run: it passed from holder "
              "(12) to worker (11) between 30.0 ms and 60.0 ms after its begin, at a moment that "
              "no marker shows, and did so 1 more time.");
    EXPECT_THAT(sentence_of(handed_over({first, second, third})),
                AllOf(HasSubstr("between 30.0 ms and 60.0 ms after its begin"),
                      HasSubstr(", and did so 2 more times.")));
}

TEST(CauseWords, WhoeverEndedTheRunIsToldWithWhatItDid) {
    EXPECT_THAT(sentence_of(handed_over({}, {link_of(holder, work_in("resize"))})),
                HasSubstr("marker shows; in that time holder (12), which ended it, computed for "
                          "100 ms in resize."));
    ThreadDoing sleep = with_end(wait_for(WaitKind::Sleep, "nap"), WaitEnd::Timeout);
    sleep.time_ns = 60 * ms;
    EXPECT_THAT(sentence_of(handed_over({}, {link_of(holder, sleep)})),
                HasSubstr("which ended it, slept 60.0 ms in nap, until its timer expired."));
    ThreadDoing shorter = work_in("resize");
    shorter.time_ns = 30 * ms;
    EXPECT_THAT(sentence_of(handed_over({}, {link_of(holder, shorter)})),
                HasSubstr("which ended it, computed for 30.0 ms in resize."));
    // A shorter wait explains nothing.
    sleep.time_ns = 59 * ms;
    EXPECT_THAT(sentence_of(handed_over({}, {link_of(holder, sleep)})),
                testing::EndsWith("at a moment that no marker shows."));
    CauseLink idle = link_of(holder, work_in("resize"));
    idle.doings.clear();
    EXPECT_THAT(sentence_of(handed_over({}, {idle})),
                testing::EndsWith("at a moment that no marker shows."));
}

TEST(CauseWords, SleepsAreCounted) {
    ThreadDoing doing = with_end(wait_for(WaitKind::Sleep, "nap"), WaitEnd::Timeout);
    EXPECT_EQ(sentence_of(doing), "Slept 100 ms (50 %) in nap, until its timer expired.");
    doing.count = 2;
    EXPECT_EQ(sentence_of(doing),
              "Slept 100 ms (50 %) in 2 sleeps in nap, each time until its timer expired.");
    EXPECT_EQ(sentence_of(with_end(doing, WaitEnd::Interrupt)),
              "Slept 100 ms (50 %) in 2 sleeps in nap.");
    EXPECT_EQ(sentence_of(with_end(doing, WaitEnd::Unknown)),
              "Slept 100 ms (50 %) in 2 sleeps in nap.");
}

TEST(CauseWords, SleepsThatPollSayThatNobodyIsKnown) {
    ThreadDoing doing = with_end(wait_for(WaitKind::Sleep, "nap"), WaitEnd::Timeout);
    doing.count = 50;
    doing.polls = true;
    EXPECT_EQ(sentence_of(doing),
              "Slept 100 ms (50 %) in 50 sleeps of about 2.00 ms in nap, each time until its timer "
              "expired; it hardly computed in between, so it probably polled; what it waited for "
              "is unknown.");
    const std::string text =
        "Slept 100 ms (50 %) in 50 sleeps of about 2.00 ms in nap, each time until its timer "
        "expired; ";
    ThreadDoing refused = doing;
    refused.refusals = 2;
    refused.refused_by = "127.0.0.1:80";
    EXPECT_EQ(sentence_of(refused),
              text + "meanwhile its connection to 127.0.0.1:80 was refused 2 times.");
    doing.files = data_file();
    doing.files.kind = WaitFileKind::Refused;
    EXPECT_EQ(sentence_of(doing), text + "before, it had been refused a lock on /srv/data.");
}

TEST(CauseWords, SleepsUntilAChildEndedNameIt) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Sleep, "nap"), other);
    doing.count = 50;
    doing.outlasts = doing.timed_out = doing.likely = doing.polls = true;
    EXPECT_EQ(sentence_of(doing, {link_of(other, work_in("encode"))}),
              "Slept 100 ms (50 %) in 50 sleeps of about 2.00 ms in nap, each time until its timer "
              "expired; it probably waited for the end of its child process other (30), which "
              "computed for 100 ms in encode.");
    EXPECT_EQ(sentence_of(doing),
              "Slept 100 ms (50 %) in 50 sleeps of about 2.00 ms in nap, each time until its timer "
              "expired.");
}

TEST(CauseWords, ManyWaitsAreCounted) {
    ThreadDoing doing = with_end(wait_for(WaitKind::Disk), WaitEnd::Interrupt);
    doing.count = 19;
    EXPECT_EQ(sentence_of(doing), "Waited 100 ms (50 %) for the disk in serve.");
    doing.count = 20;
    EXPECT_EQ(sentence_of(doing), "Waited 100 ms (50 %) in 20 waits for the disk in serve.");
}

TEST(CauseWords, AStopNamesWhoBeganAndWhoEndedIt) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Stopped), other);
    doing.reason = "stopped by a signal";
    doing.interruption = Interruption::Resumed;
    EXPECT_EQ(sentence_of(doing),
              "Was stopped by a signal for 100 ms (50 %) in serve, until other (30) resumed it.");
    doing.stopper = holder;
    EXPECT_EQ(sentence_of(doing),
              "Was stopped by a signal of holder (12) for 100 ms (50 %) in serve, until other "
              "(30) resumed it.");
    doing.stopper = other;
    EXPECT_EQ(sentence_of(doing),
              "Was stopped by a signal for 100 ms (50 %) in serve, until other (30), which had "
              "stopped it, resumed it.");
}

TEST(CauseWords, AFreezeNamesWhoBeganAndWhoEndedIt) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Other), other);
    doing.block = BlockReason::Frozen;
    doing.interruption = Interruption::Thawed;
    EXPECT_EQ(sentence_of(doing),
              "Was frozen for 100 ms (50 %) in serve, until other (30) thawed it.");
    doing.stopper = holder;
    EXPECT_EQ(sentence_of(doing),
              "Was frozen by holder (12) for 100 ms (50 %) in serve, until other (30) thawed it.");
    doing.stopper = other;
    EXPECT_EQ(sentence_of(doing),
              "Was frozen for 100 ms (50 %) in serve, until other (30), which had frozen it, "
              "thawed it.");
}

TEST(CauseWords, ThreadsAreIdentifiedByProcessAndUnit) {
    const auto named = [](const ThreadName& who) {
        return sentence_of(ended_by(wait_for(WaitKind::Signal), who));
    };
    const auto ends = [](const std::string& text) {
        return "Waited 100 ms (50 %) for a signal from another thread in serve, until " + text +
               " gave it.";
    };
    EXPECT_EQ(named(holder), ends("holder (12)"));
    EXPECT_EQ(named(name_of(own_pid, 12, "app", "")), ends("thread 12"));
    EXPECT_EQ(named(name_of(30, 30, "backup", "backup", "backup.service")),
              ends("backup (30, backup.service)"));
    EXPECT_EQ(named(name_of(30, 30, "backup", "backup", "app.service")), ends("backup (30)"));
    EXPECT_EQ(named(name_of(30, 31, "report", "reader", "report.service")),
              ends("reader (31) of report (30, report.service)"));
    EXPECT_EQ(named(name_of(30, 31, "report", "")), ends("thread 31 of report (30)"));
    EXPECT_EQ(named(name_of(30, 30, "report", "main")), ends("main (30) of report (30)"));
    EXPECT_EQ(named(name_of(30, 31, "report", "report")), ends("report (31) of report (30)"));
    EXPECT_EQ(named(name_of(0, 31, "report", "reader")), ends("reader (31)"));
    EXPECT_EQ(named(name_of(30, 31, "", "reader")), ends("reader (31)"));
}

TEST(CauseWords, PlacesWithinAnInterpreterAreLeftOut) {
    const std::string python = "/usr/bin/python3.11";
    const auto wait_in = [](WaitKind wait, const std::string& function, const std::string& module) {
        ThreadDoing doing = with_end(wait_for(wait), WaitEnd::Timeout);
        doing.focus = in_function(function, module);
        return sentence_of(doing);
    };
    EXPECT_EQ(wait_in(WaitKind::Sleep, "[python3.11]", python),
              "Slept 100 ms (50 %), until its timer expired.");
    EXPECT_EQ(wait_in(WaitKind::Sleep, "rb_thread_wait_for", "/usr/lib/libruby-3.1.so.3.1"),
              "Slept 100 ms (50 %), until its timer expired.");
    EXPECT_EQ(wait_in(WaitKind::Sleep, "rb_thread_wait_for", "/usr/bin/app"),
              "Slept 100 ms (50 %) in rb_thread_wait_for, until its timer expired.");
    EXPECT_EQ(wait_in(WaitKind::Sleep, "[app]", "/usr/bin/app"),
              "Slept 100 ms (50 %) in unnamed code of app, until its timer expired.");
    EXPECT_EQ(wait_in(WaitKind::Sleep, "time_sleep", python),
              "Slept 100 ms (50 %) in time_sleep, until its timer expired.");
    EXPECT_EQ(wait_in(WaitKind::InterpreterLock, "[python3.11]", python),
              "Waited 100 ms (50 %) for Python's lock (GIL), until it timed out.");
    EXPECT_EQ(wait_in(WaitKind::InterpreterLock, "work", python),
              "Waited 100 ms (50 %) for Python's lock (GIL) in work, until it timed out.");
    EXPECT_EQ(wait_in(WaitKind::PythonLock, "work", python),
              "Waited 100 ms (50 %) for a Python lock, until it timed out.");
    EXPECT_EQ(wait_in(WaitKind::Lock, "[python3.11]", python),
              "Waited 100 ms (50 %) for a lock in unnamed code of python3.11, until it timed out.");
}

TEST(CauseWords, AFileIsNamedIfTheWaitsWereMostlyForIt) {
    FileWaits files = data_file();
    const std::string text = "Waited 100 ms (50 %) for the disk in load";
    EXPECT_EQ(sentence_of(disk_wait(files)), text + " (/srv/data on vda).");
    files.queue_depth = 1;
    EXPECT_EQ(sentence_of(disk_wait(files)), text + " (/srv/data on vda).");
    files.queue_depth = 2;
    EXPECT_EQ(sentence_of(disk_wait(files)),
              text + " (/srv/data on vda, which had 2 requests in its queue).");
    files.files = 3;
    EXPECT_EQ(sentence_of(disk_wait(files)),
              text +
                  " (3 files, most of it for /srv/data on vda, which had 2 requests in its "
                  "queue).");
    files.files = 1;
    files.disk.clear();
    EXPECT_EQ(sentence_of(disk_wait(files)), text + " (/srv/data).");
}

TEST(CauseWords, WithoutAFileTheDiskIsNamed) {
    FileWaits files = data_file();
    files.time_ns -= 1;
    EXPECT_EQ(sentence_of(disk_wait(files)), "Waited 100 ms (50 %) for the disk in load (vda).");
    EXPECT_EQ(sentence_of(disk_wait(files, WaitKind::PageFault)),
              "Waited 100 ms (50 %) for a page of memory (page fault) in load (vda).");
    EXPECT_THAT(sentence_of(disk_wait(files, WaitKind::KernelLock)), Not(HasSubstr("vda")));
    files.path.clear();
    files.time_ns = files.asked_ns = 0;
    EXPECT_EQ(sentence_of(disk_wait(files)), "Waited 100 ms (50 %) for the disk in load (vda).");
    files.disk.clear();
    EXPECT_EQ(sentence_of(disk_wait(files)), "Waited 100 ms (50 %) for the disk in load.");
}

TEST(CauseWords, FilesThatAreNamedElsewhereAreNamedOnce) {
    FileWaits lock = data_file();
    lock.kind = WaitFileKind::Lock;
    ThreadDoing doing = ended_by(disk_wait(lock, WaitKind::FileLock), holder);
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a lock on /srv/data in load, until holder (12) released "
              "it.");
    doing.files.files = 2;
    EXPECT_THAT(sentence_of(doing), HasSubstr(" for a file lock in load, until"));
    doing.block = BlockReason::Lease;
    doing.files.files = 1;
    EXPECT_THAT(sentence_of(doing), HasSubstr(" for a lease on /srv/data in load, until"));
    doing = disk_wait(data_file(), WaitKind::Other);
    doing.block = BlockReason::MessageQueue;
    doing.reason = "message queue";
    EXPECT_EQ(sentence_of(with_end(doing, WaitEnd::Timeout)),
              "Waited 100 ms (50 %) for a message in the message queue /srv/data in load, until "
              "it timed out.");
}

ThreadDoing socket_wait(WaitFileKind kind, WaitKind wait = WaitKind::Network) {
    ThreadDoing doing = with_end(wait_for(wait, "ask"), WaitEnd::Timeout);
    doing.files.path = "10.0.0.7:5432";
    doing.files.kind = kind;
    doing.files.files = 1;
    doing.files.time_ns = 50 * ms;
    doing.files.asked_ns = 100 * ms;
    return doing;
}

TEST(CauseWords, TheOtherEndIsNamedIfTheWaitsWereMostlyForIt) {
    ThreadDoing doing = socket_wait(WaitFileKind::Peer);
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) on a connection to 10.0.0.7:5432 in ask, until it timed out.");
    doing.count = 2;
    EXPECT_THAT(sentence_of(doing), HasSubstr(", until it timed out (2 times)."));
    doing.files.time_ns -= 1;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) on a network connection in ask, until it timed out (2 times).");
    doing.files.kind = WaitFileKind::Pipe;
    doing.wait = WaitKind::Pipe;
    EXPECT_EQ(sentence_of(doing), "Waited 100 ms (50 %) on a pipe in ask, until it timed out.");
}

TEST(CauseWords, TheOwnerOfTheOtherEndIsNamedUnlessTheSentenceNamesItLater) {
    ThreadDoing doing = socket_wait(WaitFileKind::Peer);
    doing.files.owner = "other";
    doing.files.owner_pid = 30;
    EXPECT_THAT(sentence_of(doing), HasSubstr("for an answer from other (30) at 10.0.0.7:5432"));
    EXPECT_THAT(sentence_of(ended_by(doing, other)),
                HasSubstr("on a connection to 10.0.0.7:5432 in ask, until other (30) woke it."));
    EXPECT_THAT(sentence_of(ended_by(doing, holder)),
                HasSubstr("for an answer from other (30) at 10.0.0.7:5432"));
    EXPECT_THAT(sentence_of(with_end(ended_by(doing, other), WaitEnd::Timeout)),
                HasSubstr("for an answer from other (30) at 10.0.0.7:5432"))
        << "it ended only some of the waits";
    ThreadDoing outlasting = ended_by(doing, other);
    outlasting.outlasts = true;
    EXPECT_THAT(sentence_of(outlasting), HasSubstr("for an answer from other (30) at"));
    doing.files.owner_pid = own_pid;
    EXPECT_THAT(sentence_of(doing), HasSubstr("on a connection to 10.0.0.7:5432 in ask"));
}

// That the disk had requests in its queue did not matter.
TEST(CauseWords, ALimitForADiskIsNamedInsteadOfItsQueue) {
    FileWaits files = data_file();
    files.queue_depth = 2;
    ThreadDoing doing = disk_wait(files);
    const std::string text = "Waited 100 ms (50 %) for the disk in load (/srv/data on vda";
    doing.held_back.disk = "vda";
    doing.held_back.group = "batch";
    doing.held_back.bytes_per_s = mib;
    EXPECT_EQ(sentence_of(doing), text +
                                      "): its control group batch was at its limit of 1.00 MiB "
                                      "a second for reading from vda.");
}

TEST(CauseWords, AFullListenerIsNamedInAClauseOfItsOwn) {
    ThreadDoing doing = ended_by(socket_wait(WaitFileKind::Connecting), other);
    doing.files.owner = "other";
    doing.files.owner_pid = 30;
    doing.files.syn_repeated = doing.files.listener_full = true;
    const std::string text =
        "Waited 100 ms (50 %) to connect to 10.0.0.7:5432 in ask: the accept queue of other (30), "
        "which listens there, was full, so the SYN was sent again";
    EXPECT_EQ(sentence_of(doing), text + ".");
    EXPECT_EQ(sentence_of(doing, {link_of(other, work_in("burn"))}),
              text + "; meanwhile other (30) computed for 100 ms in burn.");
}

TEST(CauseWords, RoomAtTheOtherEndHasWordsOfItsOwn) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::Pipe, "log"), other);
    doing.room = Room::Data;
    doing.block = BlockReason::Pipe;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) to write to a full pipe in log, until other (30) read from "
              "it.");
    // That nobody read is said already.
    EXPECT_EQ(sentence_of(with_end(doing, WaitEnd::Interrupt)),
              "Waited 100 ms (50 %) to write to a full pipe in log.");
    doing.room = Room::Partner;
    EXPECT_THAT(sentence_of(doing), HasSubstr("until other (30) opened it."));
    doing.block = BlockReason::LocalSocket;
    doing.room = Room::Connection;
    EXPECT_THAT(sentence_of(doing), HasSubstr("until other (30) accepted another connection."));
    doing = ended_by(wait_for(WaitKind::Network, "finish"), other);
    doing.room = Room::Rest;
    doing.block = BlockReason::Network;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) to close a network connection (SO_LINGER), whose other end had "
              "not read all that was sent, in finish, until other (30) read from it.");
}

TEST(CauseWords, AChildOfVforkThatStartedNoProgramIsNamed) {
    ThreadDoing doing = ended_by(wait_for(WaitKind::ChildStart, "spawn"), other);
    doing.outlasts = true;
    EXPECT_EQ(sentence_of(doing),
              "Waited 100 ms (50 %) for a child process to start its program or end (vfork) in "
              "spawn, which had not done so: other (30).");
}

TEST(CauseWords, RefusedConnectionsAreCounted) {
    ThreadDoing doing = with_end(wait_for(WaitKind::Events, "retry"), WaitEnd::Timeout);
    doing.refused_by = "127.0.0.1:80";
    doing.refusals = 1;
    const std::string text = "Waited 100 ms (50 %) for events in retry, until it timed out";
    EXPECT_EQ(sentence_of(doing), text + "; meanwhile its connection to 127.0.0.1:80 was refused.");
    doing.refusals = 2;
    EXPECT_EQ(sentence_of(doing),
              text + "; meanwhile its connection to 127.0.0.1:80 was refused 2 times.");
}

TEST(CauseWords, ARefusedLockIsFollowedToItsHolder) {
    FileWaits files = data_file();
    files.kind = WaitFileKind::Refused;
    files.holder_pid = 30;
    files.holder = "other";
    ThreadDoing doing = ended_by(disk_wait(files, WaitKind::Sleep), other);
    doing.outlasts = doing.timed_out = true;
    doing.count = 5;
    const std::vector<CauseLink> chain{link_of(other, work_in("encode"))};
    const std::string held =
        "; before, it had been refused a lock on /srv/data, which other (30) held; meanwhile other "
        "(30) computed for 100 ms in encode.";
    EXPECT_EQ(sentence_of(doing, chain),
              "Slept 100 ms (50 %) in 5 sleeps in load, each time until its timer expired" + held);
    doing.wait = WaitKind::DatabaseLock;
    const std::string waited = "Waited 100 ms (50 %) for a lock of the database in load";
    EXPECT_EQ(sentence_of(doing, chain), waited + ", trying again each time" + held);
    doing.count = 1;
    EXPECT_EQ(sentence_of(doing, chain), waited + ", until it timed out" + held);
    EXPECT_EQ(sentence_of(doing), waited +
                                      ", until it timed out; before, it had been refused a "
                                      "lock on /srv/data, which other (30) held.");
}

TEST(CauseWords, ARefusedLockIsToldWithItsHolder) {
    FileWaits files = data_file();
    files.kind = WaitFileKind::Refused;
    const auto sentence = [&](WaitKind wait) {
        return sentence_of(with_end(disk_wait(files, wait), WaitEnd::Timeout));
    };
    EXPECT_EQ(sentence(WaitKind::Sleep),
              "Slept 100 ms (50 %) in load, until its timer expired; before, it had been refused "
              "a lock on /srv/data.");
    files.holder_pid = 30;
    files.holder = "other";
    for (const WaitKind wait : {WaitKind::Sleep, WaitKind::Events, WaitKind::DatabaseLock})
        EXPECT_THAT(sentence(wait),
                    AllOf(HasSubstr("; before, it had been refused a lock on /srv/data, which "
                                    "other (30) held."),
                          Not(HasSubstr("vda"))));
    EXPECT_THAT(sentence(WaitKind::Other), Not(HasSubstr("refused")));
    files.time_ns -= 1;
    EXPECT_THAT(sentence(WaitKind::Sleep), Not(HasSubstr("refused")));
    files = data_file();
    files.kind = WaitFileKind::Peer;
    EXPECT_THAT(sentence(WaitKind::Events), Not(HasSubstr("refused")));
    files.kind = WaitFileKind::Refused;
    files.path.clear();
    EXPECT_THAT(sentence(WaitKind::Sleep), Not(HasSubstr("refused")));
}

}  // namespace
}  // namespace lagtrap::analysis::cause_words_test
