#include "trace/merge/kernel_record_writer.hpp"

#include <sys/socket.h>

#include <gmock/gmock.h>

#include "tests/unit/trace/packets_fixture.hpp"

namespace lagtrap::trace::kernel_record_writer_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// CLOCK_BOOTTIME is 1000 ns ahead of CLOCK_MONOTONIC.
Session session_of_writer() {
    Session session = synthetic_session();
    session.clocks = {100, 1100, 7};
    session.sample_interval_ns = 2'000'000;
    session.history_interval_ns = 20'000'000;
    return session;
}

class KernelRecords : public Packets {
  protected:
    KernelRecords() {
        add_stack(5, LAGTRAP_STACK_USER);
        add_stack(6, LAGTRAP_STACK_KERNEL);
        stacks_.finish();
        std::vector<lagtrap_thread> threads;
        for (const std::uint32_t tid : {100U, 101U, 102U}) {
            lagtrap_thread thread{};
            thread.pid = thread.tid = tid;
            set_comm(thread.comm, "t" + std::to_string(tid));
            threads.push_back(thread);
        }
        threads_.write_initial(threads, 1);
    }
    void add_stack(std::uint64_t id, lagtrap_stack_kind kind) {
        const std::uint64_t address = 0x1000 * id;
        lagtrap_stack stack{};
        stack.stack_id = id;
        stack.pid = 100;
        stack.kind = static_cast<std::uint8_t>(kind);
        stack.frame_count = 1;
        stacks_.add(*reinterpret_cast<const lagtrap_stack*>(
            record_with(stack, LAGTRAP_RECORD_STACK, 1, 0,
                        {reinterpret_cast<const char*>(&address), sizeof(address)})));
    }
    static lagtrap_sample sample(std::uint32_t tid, std::uint64_t kernel, std::uint64_t user) {
        lagtrap_sample record{};
        record.pid = record.tid = tid;
        record.kernel_stack_id = kernel;
        record.user_stack_id = user;
        return record;
    }
    void take(const lagtrap_sample& record, std::uint64_t at_ns, std::uint16_t cpu = 0) {
        records_.write(record_with(record, LAGTRAP_RECORD_SAMPLE, at_ns, cpu));
    }
    static lagtrap_switch switched(std::uint32_t from, std::uint32_t to, std::uint32_t state) {
        lagtrap_switch record{};
        record.prev_pid = record.prev_tid = from;
        record.next_pid = record.next_tid = to;
        record.prev_state = state;
        record.prev_priority = 120;
        record.next_priority = 99;
        return record;
    }
    void take(const lagtrap_switch& record, std::uint64_t at_ns, std::uint16_t cpu = 2) {
        records_.write(record_with(record, LAGTRAP_RECORD_SWITCH, at_ns, cpu));
    }
    // The state of the thread that stopped, as it is written for each of these.
    std::vector<std::string> written_states(const std::vector<std::uint32_t>& states) {
        std::uint64_t at_ns = 10;
        for (const std::uint32_t state : states) take(switched(100, 100, state), ++at_ns);
        std::vector<std::string> found;
        for (const std::string& line : packets("prev_state=")) {
            const std::size_t at = line.find("prev_state=") + 11;
            found.push_back(line.substr(at, line.find(' ', at) - at));
        }
        return found;
    }

    const Session session_ = session_of_writer();
    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_{spaces_, 1 << 20};
    StackQualityCounter quality_{stacks_, modules_};
    ThreadTable threads_{spaces_, writer_, 1000, session_.containers};
    KernelRecordWriter records_{session_, stacks_, modules_, quality_, threads_, writer_, 3};
};

TEST_F(KernelRecords, BeginWithHowSamplesAreTriggered) {
    records_.begin(50);
    EXPECT_THAT(packets("defaults"),
                ElementsAre("3 1050 flags=1 defaults{perf{timebase{frequency=500 counter=1 "
                            "name='cpu-clock'}}}",
                            "4 1050 flags=1 defaults{perf{timebase{period=1 "
                            "tracepoint{name='sched:sched_switch'} name='off-cpu'}}}"));
}

TEST_F(KernelRecords, AnUnknownIntervalIsNoDivisionByZero) {
    Session session = session_of_writer();
    session.sample_interval_ns = 0;
    KernelRecordWriter records(session, stacks_, modules_, quality_, threads_, writer_, 3);
    records.begin(50);
    EXPECT_THAT(packets("cpu-clock"), ElementsAre(HasSubstr("frequency=1000000000 ")));
}

TEST_F(KernelRecords, SamplesHaveTheirPlaceAndStack) {
    lagtrap_sample in_kernel = sample(100, 6, 5);
    in_kernel.in_kernel = 1;
    take(in_kernel, 10, 3);
    take(sample(101, 0, 0), 11, 1);
    take(sample(0, 0, 5), 12);  // the idle thread
    const auto found = packets("sample{");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[0],
                AllOf(testing::StartsWith("3 1010 flags=3 interned{"),
                      HasSubstr("callstacks{iid=1 frames=1 frames=2}"),
                      testing::EndsWith("sample{cpu=3 pid=100 tid=100 callstack=1 mode=1}")));
    EXPECT_EQ(found[1], "3 1011 flags=2 sample{cpu=1 pid=101 tid=101 mode=2}");
    EXPECT_EQ(records_.counts().samples, 2U);
    StackQuality quality;
    quality_.finish(quality, {});
    EXPECT_EQ(quality.on_cpu.stacks, 1U);
    EXPECT_EQ(quality.off_cpu.stacks, 0U);
    EXPECT_EQ(quality.frames, 2U);
}

TEST_F(KernelRecords, SwitchesSayWhoStoppedAndWhoRuns) {
    lagtrap_switch record = switched(100, 101, 2);
    record.prev_priority = 120;
    record.next_priority = 99;
    take(record, 20);
    EXPECT_THAT(packets("switch{"),
                ElementsAre("18 1020 flags=1 ftrace{cpu=2 events{timestamp=1020 pid=100 "
                            "switch{prev_comm='t100' prev_pid=100 prev_prio=120 prev_state=2 "
                            "next_comm='t101' next_pid=101 next_prio=99}}}"));
    EXPECT_EQ(records_.counts().switches, 1U);
    EXPECT_EQ(records_.counts().switch_gaps, 0U);
    take(switched(101, 0, 0), 21);
    EXPECT_THAT(packets("next_comm='swapper/2'"), testing::SizeIs(1));
}

TEST_F(KernelRecords, StatesAreThoseOfTheTracepoint) {
    EXPECT_THAT(written_states({0, 1, 2, 4, 8, 0x10, 0x20, 0x40, 0x80, 0x402, 0x400, 0x1000}),
                ElementsAre("0", "1", "2", "4", "8", "16", "32", "64", "16", "128", "2", "2"));
}

// With further bits; a dead task is dead.
TEST_F(KernelRecords, OfSeveralStatesTheHighestCounts) {
    EXPECT_THAT(written_states({0x101, 3, 0x102, 0x481, 0x403, 0x60, 0x21}),
                ElementsAre("1", "2", "2", "16", "128", "64", "32"));
}

TEST_F(KernelRecords, FactsAboutASwitchAreWrittenIfThereAreAny) {
    const auto facts = [&](const lagtrap_switch& record) {
        static std::uint64_t at_ns = 100;
        take(record, ++at_ns);
        const std::string last = packets("switch{").back();
        const std::size_t at = last.find("switch_facts");
        return at == std::string::npos ? std::string() : last.substr(at);
    };
    lagtrap_switch record = switched(100, 100, 0);
    EXPECT_EQ(facts(record), "");
    record.next_policy = 3;
    EXPECT_EQ(facts(record), "switch_facts{next_policy=3}");
    record.next_policy = 0;
    record.flags = LAGTRAP_SWITCH_PREV_THROTTLED;
    EXPECT_EQ(facts(record), "switch_facts{prev_throttled=1}");
    record.flags = LAGTRAP_SWITCH_PREV_YIELDED;
    EXPECT_EQ(facts(record), "switch_facts{yielded=1}");
    record.flags = LAGTRAP_SWITCH_CONCLUDED;
    EXPECT_EQ(facts(record), "switch_facts{concluded=1}");
    record.flags = 0;
    record.throttled_from_ns = 40;
    EXPECT_EQ(facts(record), "");
    record.throttled_to_ns = 60;
    EXPECT_EQ(facts(record), "switch_facts{throttled_from=1040 throttled_to=1060}");
}

TEST_F(KernelRecords, AThreadThatStopsHasAStackOffTheCpu) {
    lagtrap_switch record = switched(100, 0, 1);
    record.kernel_stack_id = 6;
    record.user_stack_id = 5;
    record.wait_object = 77;
    record.lock_owner = 101;
    take(record, 30);
    const auto found = packets("sample{");
    ASSERT_EQ(found.size(), 1U);
    EXPECT_THAT(found[0], AllOf(testing::StartsWith("4 1030 flags=3 interned{"),
                                testing::EndsWith("wait{object=77 owner=101} sample{cpu=2 pid=100 "
                                                  "tid=100 callstack=1 mode=1}")));
    StackQuality quality;
    quality_.finish(quality, {});
    EXPECT_EQ(quality.off_cpu.stacks, 1U);
    EXPECT_EQ(quality.on_cpu.stacks, 0U);
}

TEST_F(KernelRecords, OnlyThreadsThatStopOrYieldHaveAStackOffTheCpu) {
    const auto off_cpu = [&](const lagtrap_switch& record) {
        static std::uint64_t at_ns = 200;
        const std::size_t before = packets("sample{").size();
        take(record, ++at_ns);
        return packets("sample{").size() > before;
    };
    EXPECT_FALSE(off_cpu(switched(100, 100, 0)));  // preempted
    EXPECT_TRUE(off_cpu(switched(100, 100, 1)));
    lagtrap_switch yielded = switched(100, 0, 0);
    yielded.flags = LAGTRAP_SWITCH_PREV_YIELDED;
    EXPECT_FALSE(off_cpu(yielded));  // without a stack
    yielded.prev_pid = yielded.prev_tid = 0;
    yielded.user_stack_id = 5;
    EXPECT_FALSE(off_cpu(yielded));  // the idle thread
    yielded.prev_pid = yielded.prev_tid = yielded.next_tid = 100;
    EXPECT_TRUE(off_cpu(yielded));
    EXPECT_FALSE(off_cpu(switched(0, 100, 1)));
}

TEST_F(KernelRecords, WaitsWithoutAnObjectHaveNoOwner) {
    records_.write_off_cpu(3, 100, 101, 40, 6, 5, 0, 102);
    records_.write_off_cpu(3, 100, 101, 41, 6, 5, 9, 0);
    EXPECT_THAT(packets("sample{"),
                ElementsAre(testing::EndsWith("frames=1 frames=2}} sample{cpu=3 pid=100 tid=101 "
                                              "callstack=1 mode=1}"),
                            "4 1041 flags=2 wait{object=9} sample{cpu=3 pid=100 tid=101 "
                            "callstack=1 mode=1}"));
}

TEST_F(KernelRecords, InferredSwitchesAreGapsWithoutAStack) {
    lagtrap_switch record = switched(100, 101, 1);
    record.flags = LAGTRAP_SWITCH_CONCLUDED;
    take(record, 20);
    EXPECT_EQ(records_.counts().switches, 0U);
    EXPECT_EQ(records_.counts().switch_gaps, 1U);
    EXPECT_EQ(packets("switch{").size(), 1U);
    EXPECT_THAT(packets("sample{"), IsEmpty());
}

TEST_F(KernelRecords, AMissingSwitchIsInserted) {
    take(switched(100, 101, 1), 20);
    take(switched(102, 101, 2), 30);  // 102's arrival was not recorded
    take(switched(100, 101, 1), 31, 3);
    EXPECT_EQ(records_.counts().switch_gaps, 1U);
    EXPECT_EQ(records_.counts().switches, 3U);
    const auto found = packets("switch{");
    ASSERT_EQ(found.size(), 4U);
    EXPECT_EQ(found[1],
              "18 1030 ftrace{cpu=2 events{timestamp=1030 pid=101 switch{prev_comm='t101' "
              "prev_pid=101 prev_prio=120 prev_state=1 next_comm='t102' next_pid=102 "
              "next_prio=120}}}");
    EXPECT_THAT(found[2], HasSubstr("prev_pid=102 prev_prio=120 prev_state=2"));
    EXPECT_THAT(found[3], testing::StartsWith("19 1031 "));
}

TEST_F(KernelRecords, WakeupsBlameTheWaker) {
    lagtrap_waking record{};
    record.waker_pid = record.waker_tid = 100;
    record.wakee_pid = record.wakee_tid = 101;
    record.wakee_priority = 98;
    record.target_cpu = 5;
    const auto written = [&](std::uint32_t interrupt, std::uint32_t cause) {
        static std::uint64_t at_ns = 300;
        record.in_interrupt = interrupt;
        record.cause = cause;
        records_.write(record_with(record, LAGTRAP_RECORD_WAKING, ++at_ns, 2));
        const std::string line = packets("waking{").back();
        return line.substr(line.find(" pid=") + 1);
    };
    const std::string waking = "waking{comm='t101' pid=101 prio=98 success=1 target_cpu=5}}}";
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_NONE, LAGTRAP_WAKE_UNKNOWN), "pid=100 " + waking);
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_NONE, LAGTRAP_WAKE_SIGNAL),
              "pid=100 " + waking + " wake_cause{cause=9}");
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_HARD, LAGTRAP_WAKE_TIMEOUT),
              "pid=100 flags=8 " + waking + " wake_cause{cause=2}");
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_SOFT, LAGTRAP_WAKE_PACKET),
              "pid=100 flags=16 " + waking + " wake_cause{cause=4}");
    record.sender_tid = 102;
    record.number = 4;
    set_comm(record.device, "eth0");
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_SOFT, LAGTRAP_WAKE_PACKET),
              "pid=102 " + waking + " wake_cause{cause=4 number=4 device='eth0'}");
    EXPECT_EQ(written(LAGTRAP_INTERRUPT_SOFT, LAGTRAP_WAKE_DISK),
              "pid=100 flags=16 " + waking + " wake_cause{cause=5 number=4 device='eth0'}");
    EXPECT_THAT(packets("waking{").front(),
                testing::StartsWith("18 1301 flags=1 ftrace{cpu=2 events{timestamp=1301 pid=100"));
}

TEST_F(KernelRecords, FilesOfWaitsKeepTheirPath) {
    lagtrap_wait_file record{};
    record.file = 7;
    record.pid = 100;
    record.tid = 101;
    const auto written = [&](std::string_view trailing) {
        static std::uint64_t at_ns = 400;
        record.path_bytes = static_cast<__u16>(trailing.size());
        records_.write(record_with(record, LAGTRAP_RECORD_WAIT_FILE, ++at_ns, 2, trailing));
        const std::string line = packets("wait_file{").back();
        return line.substr(line.find("wait_file"));
    };
    record.kind = LAGTRAP_FILE_OF_CALL;
    EXPECT_EQ(written({"c\0b\0a\n\0", 7}), "wait_file{tid=101 kind=1 path='/a\\\\x0a/b/c'}");
    EXPECT_EQ(written(""), "wait_file{tid=101 kind=1 path='/a\\\\x0a/b/c'}");
    record.file = 8;
    EXPECT_EQ(written(""), "wait_file{tid=101 kind=1}");
    record.holder_pid = 300;
    record.queue_depth = 4;
    set_comm(record.disk, "vda");
    EXPECT_EQ(written({"x", 1}),
              "wait_file{tid=101 kind=1 path='/x' disk='vda' queue_depth=4 holder=300}");
    record = lagtrap_wait_file{};
    record.file = 9;
    record.kind = LAGTRAP_FILE_LOCAL_PEER;
    EXPECT_EQ(written({"/run/a\0rest", 11}), "wait_file{tid=0 kind=8 path='/run/a' socket=9}");
    record.file = 10;
    record.kind = LAGTRAP_FILE_PIPE;
    EXPECT_EQ(written(""), "wait_file{tid=0 kind=14 socket=10}");
    EXPECT_THAT(packets("wait_file{").front(), testing::StartsWith("18 1401 flags=1 wait_file"));
}

TEST_F(KernelRecords, OtherEndsOfSocketsHaveTheirAddress) {
    lagtrap_peer peer{};
    peer.family = AF_INET;
    peer.port = 5432;
    const unsigned char address[] = {10, 0, 0, 7};
    std::memcpy(peer.address, address, sizeof(address));
    lagtrap_wait_file record{};
    record.file = 11;
    record.tid = 101;
    record.path_bytes = sizeof(peer);
    std::uint64_t at_ns = 450;
    for (const auto kind : {LAGTRAP_FILE_PEER, LAGTRAP_FILE_CONNECTING, LAGTRAP_FILE_DATAGRAM_PEER,
                            LAGTRAP_FILE_SYN_REPEATED, LAGTRAP_FILE_CONNECT_REFUSED}) {
        record.kind = static_cast<decltype(record.kind)>(kind);
        records_.write(record_with(record, LAGTRAP_RECORD_WAIT_FILE, ++at_ns, 2,
                                   {reinterpret_cast<const char*>(&peer), sizeof(peer)}));
        EXPECT_THAT(packets("wait_file{").back(),
                    testing::EndsWith("wait_file{tid=101 kind=" + std::to_string(kind) +
                                      " path='10.0.0.7:5432' socket=11}"));
    }
}

TEST_F(KernelRecords, LimitsOfDisksHaveTheirGroup) {
    lagtrap_disk_limit record{};
    record.tid = 101;
    record.bytes_per_s = 4096;
    set_comm(record.disk, "vdb");
    std::strcpy(record.group, "batch\n");
    records_.write(record_with(record, LAGTRAP_RECORD_DISK_LIMIT, 460, 2));
    EXPECT_THAT(packets("disk_limit{").back(),
                testing::EndsWith("disk_limit{tid=101 disk='vdb' group='batch\\\\x0a' writes=0 "
                                  "bytes_per_s=4096}"));
    record.writes = 1;
    record.bytes_per_s = 0;
    record.operations_per_s = 30;
    std::memset(record.group, 'g', sizeof(record.group));
    records_.write(record_with(record, LAGTRAP_RECORD_DISK_LIMIT, 461, 2));
    EXPECT_THAT(packets("disk_limit{").back(),
                testing::EndsWith("group='" + std::string(sizeof(record.group), 'g') +
                                  "' writes=1 operations_per_s=30}"));
}

TEST_F(KernelRecords, WhatDisksWriteKeepsItsPath) {
    lagtrap_written record{};
    record.file = 7;
    record.bytes = 5;
    const auto written = [&](std::string_view trailing) {
        static std::uint64_t at_ns = 500;
        record.path_bytes = static_cast<__u16>(trailing.size());
        records_.write(record_with(record, LAGTRAP_RECORD_WRITTEN, ++at_ns, 2, trailing));
        const std::string line = packets("written{").back();
        return line.substr(0, 8) + line.substr(line.find("written"));
    };
    EXPECT_EQ(written({"b\0a", 3}), "18 1501 written{file=7 bytes=5 path='/a/b'}");
    record = lagtrap_written{};
    record.file = 7;
    record.pid = 100;
    EXPECT_EQ(written(""), "18 1502 written{file=7 path='/a/b' pid=100}");
    record = lagtrap_written{};
    record.ended_ns = 90;
    set_comm(record.name, "dd\n");
    EXPECT_EQ(written(""), "18 1503 written{name='dd\\\\x0a' ended=1090}");
    // Files that are waited for have other numbers.
    lagtrap_wait_file wait{};
    wait.file = 7;
    wait.kind = LAGTRAP_FILE_OF_CALL;
    records_.write(record_with(wait, LAGTRAP_RECORD_WAIT_FILE, 600, 2));
    EXPECT_THAT(packets("wait_file"), ElementsAre(Not(HasSubstr("path"))));
}

TEST_F(KernelRecords, MemoryOfAGroupHasItsPartsAndWhoFillsIt) {
    lagtrap_group_memory record{};
    record.pid = 100;
    record.limit_bytes = 1;
    record.used_bytes = 2;
    record.file_bytes = 3;
    record.anonymous_bytes = 4;
    record.shared_bytes = 5;
    record.filler_bytes = 6;
    record.path_bytes = 4;
    records_.write(record_with(record, LAGTRAP_RECORD_GROUP_MEMORY, 10, 2, "/a\nb and more"));
    record.filler_pid = 101;
    records_.write(record_with(record, LAGTRAP_RECORD_GROUP_MEMORY, 11, 2, "/a\nb"));
    const std::string memory =
        "group_memory{pid=100 path='/a\\\\x0ab' limit=1 used=2 file=3 anonymous=4 shared=5";
    EXPECT_THAT(packets("group_memory"),
                ElementsAre("18 1010 flags=1 " + memory + "}",
                            "18 1011 " + memory + " filler=101 filler_bytes=6}"));
}

TEST_F(KernelRecords, TheHistoryHasItsOwnSequence) {
    lagtrap_history_sample record{};
    record.user_stack_id = 5;
    record.pid = 100;
    record.tid = 300;
    set_comm(record.comm, "worker");
    set_comm(record.process, "other");
    records_.write(record_with(record, LAGTRAP_RECORD_HISTORY_SAMPLE, 10, 3));
    records_.write(record_with(record, LAGTRAP_RECORD_HISTORY_SAMPLE, 11, 3));
    const auto found = packets();
    EXPECT_THAT(packets("'history'"),
                ElementsAre("5 1010 flags=1 defaults{perf{timebase{frequency=50 counter=1 "
                            "name='history'}}}"));
    EXPECT_THAT(packets("sample{"),
                ElementsAre(testing::EndsWith("sample{cpu=3 pid=100 tid=300 callstack=1 mode=2}"),
                            "5 1011 flags=2 sample{cpu=3 pid=100 tid=300 callstack=1 mode=2}"));
    EXPECT_EQ(threads_.find(300)->name, "worker");
    EXPECT_EQ(threads_.find(300)->pid, 100U);
    EXPECT_EQ(threads_.find(100)->name, "t100") << "as it was listed";
    EXPECT_EQ(records_.counts().samples, 0U);
    StackQuality quality;
    quality_.finish(quality, {});
    EXPECT_EQ(quality.user_stacks, 0U);
}

// Every program that a shell starts gets a new name.
TEST_F(KernelRecords, NamesOfTheHistoryChange) {
    lagtrap_history_sample record{};
    record.pid = record.tid = 300;
    const auto name = [&](const char* comm) {
        static std::uint64_t at_ns = 700;
        set_comm(record.comm, comm);
        set_comm(record.process, comm);
        records_.write(record_with(record, LAGTRAP_RECORD_HISTORY_SAMPLE, ++at_ns, 3));
        return threads_.find(300)->name;
    };
    EXPECT_EQ(name("sh"), "sh");
    const std::size_t before = packets("tid=300 name=").size();
    EXPECT_EQ(name("sh"), "sh");
    EXPECT_EQ(packets("tid=300 name=").size(), before);
    EXPECT_EQ(name("grep"), "grep");
    EXPECT_EQ(packets("tid=300 name='grep'").size(), 1U);
}

TEST_F(KernelRecords, WaitsOfTheHistoryHaveTheirWaker) {
    lagtrap_history_wait record{};
    record.begin_ns = 5;
    record.kernel_stack_id = 6;
    record.user_stack_id = 5;
    record.pid = record.tid = 100;
    record.waker_pid = 400;
    record.waker_tid = 401;
    set_comm(record.comm, "a");
    set_comm(record.process, "b");
    set_comm(record.waker, "waker");
    record.by_interrupt = 1;
    records_.write(record_with(record, LAGTRAP_RECORD_HISTORY_WAIT, 10, 3));
    EXPECT_EQ(threads_.find(401), nullptr) << "the interrupted thread does not matter";
    record.by_interrupt = 0;
    record.in_run = 1;
    record.waker_user_stack_id = 5;
    records_.write(record_with(record, LAGTRAP_RECORD_HISTORY_WAIT, 11, 3));
    ASSERT_NE(threads_.find(401), nullptr);
    EXPECT_EQ(threads_.find(401)->name, "waker");
    EXPECT_EQ(threads_.find(401)->pid, 400U);
    const auto found = packets("history_wait{");
    ASSERT_EQ(found.size(), 3U);
    EXPECT_THAT(found[0],
                testing::EndsWith("history_wait{begin=1005 waker=401 by_interrupt=1 in_run=0} "
                                  "sample{cpu=3 pid=100 tid=100 callstack=1 mode=1}"));
    EXPECT_EQ(found[1],
              "5 1011 flags=2 history_wait{begin=1005 waker=401 by_interrupt=0 in_run=1} "
              "sample{cpu=3 pid=100 tid=100 callstack=1 mode=1}");
    EXPECT_THAT(found[2], AllOf(testing::StartsWith("5 1011 flags=2 interned{callstacks{iid=2 "),
                                testing::EndsWith("history_wait{of_waker=1} sample{cpu=3 pid=400 "
                                                  "tid=401 callstack=2 mode=1}")));
}

TEST_F(KernelRecords, NumbersOfStacksBeginAnewAtTheirLimit) {
    for (std::uint64_t id = 10; id < 15; ++id) add_stack(id, LAGTRAP_STACK_USER);
    records_.begin(1);
    for (std::uint64_t id = 10; id < 15; ++id) take(sample(100, 0, id), id);
    const auto found = packets("sample{");
    ASSERT_EQ(found.size(), 5U);
    EXPECT_THAT(found[2], HasSubstr("callstack=3"));
    EXPECT_THAT(found[3], HasSubstr("callstack=1"));
    EXPECT_THAT(found[4], HasSubstr("callstack=2"));
    EXPECT_THAT(packets("cpu-clock"), ElementsAre(testing::StartsWith("3 1001 flags=1"),
                                                  testing::StartsWith("3 1013 flags=1")));
}

TEST_F(KernelRecords, OtherTypesAreIgnored) {
    const std::size_t before = packets().size();
    records_.write(record_with(lagtrap_name{}, LAGTRAP_RECORD_NAME, 10, 0));
    records_.write(record_with(lagtrap_stack{}, LAGTRAP_RECORD_STACK, 10, 0));
    EXPECT_EQ(packets().size(), before);
}

}  // namespace
}  // namespace lagtrap::trace::kernel_record_writer_test
