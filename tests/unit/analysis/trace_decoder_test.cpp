// What the decoder makes of each field of a packet, and what it leaves out and counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/raw_trace.hpp"
#include "tests/unit/analysis/trace_messages.hpp"

namespace lagtrap::analysis::trace_decoder_test {
namespace {

using protozero::pbf_writer;
using test::message_of;
using testing::ElementsAre;
using testing::HasSubstr;

// Field numbers of TracePacket.
constexpr std::uint32_t ftrace = 1, process_tree = 2, descriptor = 60, perf_sample = 66,
                        waking_facts = 20001, switch_facts = 20002, wait_file = 20003,
                        history_wait = 20004, wait_facts = 20005;
constexpr std::uint64_t at_ns = 5'000'000'000;

// A packet of sequence `sequence`, which `fill` adds to.
template <typename Fill>
std::string packet(Fill fill, std::uint32_t sequence = 1, std::uint64_t time_ns = at_ns) {
    return message_of([&](pbf_writer& trace) {
        pbf_writer one(trace, 1);
        one.add_uint64(8, time_ns);
        one.add_uint32(10, sequence);
        fill(one);
    });
}

std::string packet_of(std::uint32_t field, const std::string& message, std::uint32_t more_field = 0,
                      const std::string& more = "") {
    return packet([&](pbf_writer& one) {
        one.add_message(field, message);
        if (more_field != 0) one.add_message(more_field, more);
    });
}

RawTrace decoded(const std::string& trace) {
    auto raw = decode_trace(trace);
    EXPECT_TRUE(raw) << raw.error().message;
    return raw ? std::move(raw).value() : RawTrace{};
}

std::string bundle(std::uint32_t cpu, const std::string& event) {
    return message_of([&](pbf_writer& writer) {
        writer.add_message(2, event);
        writer.add_uint32(1, cpu);
    });
}

struct Switch {
    std::uint32_t prev_tid = 10, next_tid = 20;
    std::int64_t prev_state = 0, prev_priority = 120, next_priority = 120;
};

std::string event_of(const Switch& change) {
    return message_of([&](pbf_writer& event) {
        event.add_uint64(1, at_ns + 7);
        event.add_uint32(2, change.prev_tid);
        pbf_writer message(event, 4);
        message.add_uint32(2, change.prev_tid);
        message.add_int64(3, change.prev_priority);
        message.add_int64(4, change.prev_state);
        message.add_uint32(6, change.next_tid);
        message.add_int64(7, change.next_priority);
    });
}

RawTrace switched(const Switch& change, const std::string& facts = "") {
    return decoded(
        packet_of(ftrace, bundle(3, event_of(change)), facts.empty() ? 0 : switch_facts, facts));
}

TEST(TraceDecoder, ASwitchHasItsThreadsAndTime) {
    const RawTrace raw = switched({.prev_tid = 11, .next_tid = 22});
    ASSERT_EQ(raw.switches.at(3).size(), 1U);
    const RawSwitch& change = raw.switches.at(3)[0];
    EXPECT_EQ(change.at_ns, at_ns + 7);
    EXPECT_EQ(change.prev_tid, 11U);
    EXPECT_EQ(change.next_tid, 22U);
    EXPECT_EQ(change.throttling, 0U);
    EXPECT_FALSE(change.prev_throttled || change.prev_yielded || change.concluded);
    EXPECT_EQ(raw.records, 1U);
    EXPECT_EQ(raw.unreadable, 0U);
}

TEST(TraceDecoder, TheStateSaysHowAThreadStopped) {
    const auto out = [](std::int64_t state) {
        return switched({.prev_state = state}).switches.at(3).at(0).out;
    };
    EXPECT_EQ(out(0), SwitchOut::Runnable);
    for (const std::int64_t asleep : {1, 2, 4, 8, 0x40, 0x80})
        EXPECT_EQ(out(asleep), SwitchOut::Blocked) << asleep;
    for (const std::int64_t ended : {0x10, 0x20, 0x30})
        EXPECT_EQ(out(ended), SwitchOut::Exited) << ended;
    // Preempted, whatever it was about to do.
    for (const std::int64_t preempted : {0x100, 0x101, 0x110})
        EXPECT_EQ(out(preempted), SwitchOut::Runnable) << preempted;
}

TEST(TraceDecoder, PrioritiesAreThoseOfTheKernel) {
    const RawSwitch change =
        switched({.prev_priority = 0, .next_priority = 139}).switches.at(3).at(0);
    EXPECT_EQ(change.prev_priority, 0);
    EXPECT_EQ(change.next_priority, 139);
    const RawSwitch odd =
        switched({.prev_priority = -1, .next_priority = 140}).switches.at(3).at(0);
    EXPECT_EQ(odd.prev_priority, -1);
    EXPECT_EQ(odd.next_priority, -1);
}

TEST(TraceDecoder, AThreadOfTheIdlePolicyHasItsOwnPriority) {
    const auto with_policy = [](std::uint32_t policy) {
        const std::string facts =
            message_of([&](pbf_writer& message) { message.add_uint32(1, policy); });
        return switched({.next_priority = 120}, facts).switches.at(3).at(0).next_priority;
    };
    constexpr std::uint32_t normal = 0, batch = 3, idle = 5;
    EXPECT_EQ(with_policy(normal), 120);
    EXPECT_EQ(with_policy(batch), 120);
    EXPECT_EQ(with_policy(idle), idle_priority);
}

std::string facts_of(std::uint64_t from_ns, std::uint64_t to_ns, std::uint32_t flag = 0) {
    return message_of([&](pbf_writer& facts) {
        if (flag != 0) facts.add_bool(flag, true);
        facts.add_uint64(3, from_ns);
        facts.add_uint64(4, to_ns);
    });
}

TEST(TraceDecoder, ASwitchMayHaveMoreFacts) {
    const auto facts = [](std::uint32_t flag) {
        return switched({}, facts_of(0, 0, flag)).switches.at(3).at(0);
    };
    EXPECT_TRUE(facts(2).prev_throttled);
    EXPECT_TRUE(facts(6).prev_yielded);
    EXPECT_TRUE(facts(5).concluded);
    EXPECT_FALSE(facts(5).prev_throttled || facts(5).prev_yielded);
    EXPECT_FALSE(facts(2).concluded || facts(2).prev_yielded);
    EXPECT_EQ(facts(2).throttling, 0U);
    const RawTrace raw = switched({}, facts_of(100, 200));
    ASSERT_EQ(raw.throttlings.size(), 1U);
    EXPECT_EQ(raw.throttlings[0].from_ns, 100U);
    EXPECT_EQ(raw.throttlings[0].to_ns, 200U);
    EXPECT_EQ(raw.switches.at(3).at(0).throttling, 1U);
}

TEST(TraceDecoder, ThreadsAndCpusBeyondTheKernelsAreCounted) {
    EXPECT_EQ(switched({.prev_tid = tid_limit - 1, .next_tid = tid_limit - 1}).unreadable, 0U);
    for (const Switch& change : {Switch{.prev_tid = tid_limit}, Switch{.next_tid = tid_limit}}) {
        const RawTrace raw = switched(change);
        EXPECT_EQ(raw.unreadable, 1U);
        EXPECT_TRUE(raw.switches.empty());
    }
    const auto on_cpu = [](std::uint32_t cpu) {
        return decoded(packet_of(ftrace, bundle(cpu, event_of({}))));
    };
    EXPECT_EQ(on_cpu(cpu_limit - 1).switches.count(cpu_limit - 1), 1U);
    EXPECT_EQ(on_cpu(cpu_limit).unreadable, 1U);
    EXPECT_TRUE(on_cpu(cpu_limit).switches.empty());
}

RawTrace woken(std::uint32_t waker, std::uint32_t wakee, std::uint32_t flags = 0,
               const std::string& facts = "") {
    const std::string event = message_of([&](pbf_writer& writer) {
        writer.add_uint64(1, at_ns + 9);
        writer.add_uint32(2, waker);
        writer.add_uint32(5, flags);
        pbf_writer(writer, 20).add_uint32(2, wakee);
    });
    return decoded(packet_of(ftrace, bundle(0, event), facts.empty() ? 0 : waking_facts, facts));
}

TEST(TraceDecoder, AWakeupHasItsThreadsAndTime) {
    const RawTrace raw = woken(11, 22);
    ASSERT_EQ(raw.wakings.size(), 1U);
    EXPECT_EQ(raw.wakings[0].at_ns, at_ns + 9);
    EXPECT_EQ(raw.wakings[0].waker_tid, 11U);
    EXPECT_EQ(raw.wakings[0].wakee_tid, 22U);
    EXPECT_EQ(raw.wakings[0].cause, WakeCause::Unknown);
    EXPECT_FALSE(raw.wakings[0].by_interrupt);
    EXPECT_EQ(raw.records, 1U);
    EXPECT_EQ(woken(tid_limit, 22).unreadable, 1U);
    EXPECT_EQ(woken(11, tid_limit).unreadable, 1U);
    EXPECT_TRUE(woken(11, tid_limit).wakings.empty());
}

TEST(TraceDecoder, HardAndSoftInterruptsWake) {
    for (const std::uint32_t flags : {0x08U, 0x10U, 0x18U, 0x1fU})
        EXPECT_TRUE(woken(11, 22, flags).wakings.at(0).by_interrupt) << flags;
    for (const std::uint32_t flags : {0x01U, 0x04U, 0x20U})
        EXPECT_FALSE(woken(11, 22, flags).wakings.at(0).by_interrupt) << flags;
}

RawTrace caused(std::uint64_t cause, const std::string& device = "eth0") {
    return woken(11, 22, 0, message_of([&](pbf_writer& facts) {
                     facts.add_uint64(1, cause);
                     facts.add_string(3, device);
                 }));
}

TEST(TraceDecoder, CausesOfWakeupsAreThreadsOrInterrupts) {
    const std::vector<WakeCause> by_threads{WakeCause::Unknown, WakeCause::Thread,
                                            WakeCause::Packet, WakeCause::Signal,
                                            WakeCause::Killed};
    for (std::uint64_t cause = 0; cause <= 10; ++cause) {
        const RawWaking waking = caused(cause).wakings.at(0);
        EXPECT_EQ(static_cast<std::uint64_t>(waking.cause), cause);
        const bool by_thread =
            std::find(by_threads.begin(), by_threads.end(), waking.cause) != by_threads.end();
        EXPECT_EQ(waking.by_interrupt, !by_thread) << cause;
    }
    const RawWaking later = caused(11).wakings.at(0);
    EXPECT_EQ(later.cause, WakeCause::Interrupt);
    EXPECT_TRUE(later.by_interrupt);
}

TEST(TraceDecoder, DevicesHaveShortNames) {
    const RawTrace raw = caused(4);
    EXPECT_EQ(raw.names.at(raw.wakings.at(0).device), "eth0");
    const RawTrace cut = caused(4, std::string(65, 'x'));
    EXPECT_EQ(cut.names.at(cut.wakings.at(0).device), std::string(64, 'x'));
}

RawTrace waited(std::uint64_t kind, std::uint32_t tid = 10, std::uint32_t holder_pid = 30,
                const std::string& path = "/srv/data", const std::string& disk = "vda") {
    return decoded(packet_of(wait_file, message_of([&](pbf_writer& wait) {
                                 wait.add_uint32(1, tid);
                                 wait.add_uint64(2, kind);
                                 wait.add_string(3, path);
                                 wait.add_string(4, disk);
                                 wait.add_uint32(5, 12);
                                 wait.add_uint32(6, holder_pid);
                                 wait.add_uint64(7, 77);
                             })));
}

TEST(TraceDecoder, WaitsForFilesHaveAllThatIsKnown) {
    for (const std::uint64_t kind : {0, 1, 2, 3, 4, 5, 6, 7, 8, 14, 15}) {
        const RawTrace raw = waited(kind);
        ASSERT_EQ(raw.wait_files.size(), 1U) << kind;
        const RawWaitFile& wait = raw.wait_files[0];
        EXPECT_EQ(wait.at_ns, at_ns);
        EXPECT_EQ(wait.tid, 10U);
        EXPECT_EQ(static_cast<std::uint64_t>(wait.file.kind), kind);
        EXPECT_EQ(raw.names.at(wait.file.path), "/srv/data");
        EXPECT_EQ(raw.names.at(wait.file.disk), "vda");
        EXPECT_EQ(wait.file.queue_depth, 12U);
        EXPECT_EQ(wait.file.holder_pid, 30U);
        EXPECT_EQ(wait.file.socket, 77U);
        EXPECT_TRUE(raw.socket_owners.empty());
        EXPECT_EQ(raw.records, 1U);
    }
    EXPECT_TRUE(waited(1, 0).wait_files.empty());
    EXPECT_EQ(waited(1, tid_limit - 1).wait_files.size(), 1U);
    EXPECT_TRUE(waited(1, tid_limit).wait_files.empty());
    const RawTrace cut = waited(1, 10, 30, std::string(4097, 'p'), std::string(65, 'd'));
    EXPECT_EQ(cut.names.at(cut.wait_files.at(0).file.path), std::string(4096, 'p'));
    EXPECT_EQ(cut.names.at(cut.wait_files.at(0).file.disk), std::string(64, 'd'));
}

TEST(TraceDecoder, FailedConnectionsAreNoWaits) {
    const RawTrace repeated = waited(9), refused = waited(10);
    ASSERT_EQ(repeated.repeated_syns.size(), 1U);
    ASSERT_EQ(refused.refused_connects.size(), 1U);
    EXPECT_TRUE(repeated.refused_connects.empty() && refused.repeated_syns.empty());
    EXPECT_TRUE(repeated.wait_files.empty() && refused.wait_files.empty());
    const FailedConnect& failed = refused.refused_connects[0];
    EXPECT_EQ(failed.at_ns, at_ns);
    EXPECT_EQ(failed.tid, 10U);
    EXPECT_EQ(failed.socket, 77U);
    EXPECT_EQ(refused.names.at(failed.peer), "/srv/data");
}

TEST(TraceDecoder, OwnersOfSocketsAreNoWaits) {
    for (const std::uint64_t kind : {11, 12, 13}) {
        const RawTrace raw = waited(kind);
        EXPECT_TRUE(raw.wait_files.empty());
        ASSERT_EQ(raw.socket_owners.size(), 1U) << kind;
        EXPECT_EQ(static_cast<std::uint64_t>(raw.socket_owners[0].kind), kind);
        EXPECT_EQ(raw.socket_owners[0].pid, 30U);
        EXPECT_EQ(raw.socket_owners[0].socket, 77U);
        EXPECT_EQ(raw.names.at(raw.socket_owners[0].peer), "/srv/data");
    }
    EXPECT_TRUE(waited(11, 10, 0).socket_owners.empty());
    EXPECT_EQ(waited(11, 10, tid_limit - 1).socket_owners.size(), 1U);
    EXPECT_TRUE(waited(11, 10, tid_limit).socket_owners.empty());
}

TEST(TraceDecoder, KindsOfFilesFromLaterVersionsAreLeftOut) {
    const RawTrace raw = waited(16);
    EXPECT_TRUE(raw.wait_files.empty() && raw.socket_owners.empty());
    EXPECT_EQ(raw.unreadable, 0U);
}

// Sequences of samples: of CPUs, of threads that stop, and of the time before the recording.
std::string sequence_of_samples(std::uint32_t sequence) {
    return packet(
        [&](pbf_writer& one) {
            one.add_uint32(13, 1);
            pbf_writer defaults(one, 59);
            pbf_writer sample(defaults, 12);
            pbf_writer timebase(sample, 1);
            timebase.add_uint64(2, 1000);
            if (sequence == 2) pbf_writer(timebase, 3).add_string(1, "sched:sched_switch");
            if (sequence == 3) timebase.add_string(10, "history");
            if (sequence == 4) timebase.add_string(10, "something");
        },
        sequence);
}

struct SampleFields {
    std::uint32_t sequence = 1;
    std::uint32_t cpu = 3, pid = 10, tid = 11;
    std::uint64_t stack = 0;
    std::uint32_t more_field = 0;
    std::string more;
};

std::string sample_of(const SampleFields& sample) {
    return packet(
        [&](pbf_writer& one) {
            {
                pbf_writer message(one, perf_sample);
                message.add_uint32(1, sample.cpu);
                message.add_uint32(2, sample.pid);
                message.add_uint32(3, sample.tid);
                message.add_uint64(4, sample.stack);
            }
            if (sample.more_field != 0) one.add_message(sample.more_field, sample.more);
        },
        sample.sequence);
}

TEST(TraceDecoder, ASampleIsOfACpuOrOfAThreadThatStopped) {
    for (const std::uint32_t sequence : {1U, 2U, 4U}) {
        const RawTrace raw =
            decoded(sequence_of_samples(sequence) + sample_of({.sequence = sequence}));
        const auto& taken = sequence == 2 ? raw.off_cpu : raw.samples;
        EXPECT_EQ(raw.off_cpu.size() + raw.samples.size(), 1U);
        ASSERT_EQ(taken.size(), 1U);
        EXPECT_EQ(taken[0].at_ns, at_ns);
        EXPECT_EQ(taken[0].cpu, 3U);
        EXPECT_EQ(taken[0].pid, 10U);
        EXPECT_EQ(taken[0].tid, 11U);
        EXPECT_EQ(taken[0].stack, 0U);
        EXPECT_EQ(raw.unreadable, 0U);
    }
}

TEST(TraceDecoder, SamplesBeyondTheKernelsLimitsAreCounted) {
    EXPECT_EQ(decoded(sample_of({.cpu = cpu_limit - 1, .tid = tid_limit - 1})).samples.size(), 1U);
    for (const SampleFields& sample :
         {SampleFields{.cpu = cpu_limit}, SampleFields{.tid = tid_limit}}) {
        const RawTrace raw = decoded(sample_of(sample));
        EXPECT_TRUE(raw.samples.empty());
        EXPECT_EQ(raw.unreadable, 1U);
    }
    const RawTrace unknown = decoded(sample_of({.stack = 5}));
    EXPECT_EQ(unknown.samples.at(0).stack, 0U);
    EXPECT_EQ(unknown.unreadable, 1U);
}

TEST(TraceDecoder, OnlyAThreadThatStoppedWaitsForALock) {
    const std::string wait = message_of([](pbf_writer& facts) {
        facts.add_uint64(1, 0x7f00);
        facts.add_uint32(2, 12);
    });
    const SampleFields sample{.more_field = wait_facts, .more = wait};
    const auto taken = [&](std::uint32_t sequence) {
        SampleFields changed = sample;
        changed.sequence = sequence;
        return decoded(sequence_of_samples(sequence) + sample_of(changed));
    };
    EXPECT_EQ(taken(2).off_cpu.at(0).lock, 1U);
    EXPECT_EQ(taken(2).off_cpu.at(0).lock_owner, 12U);
    EXPECT_EQ(taken(1).samples.at(0).lock, 0U);
    EXPECT_EQ(taken(1).samples.at(0).lock_owner, 0U);
}

RawTrace before(const std::string& wait) {
    return decoded(sequence_of_samples(3) +
                   sample_of({.sequence = 3, .more_field = history_wait, .more = wait}));
}

std::string earlier_wait(std::uint64_t begin_ns, std::uint32_t waker, bool by_interrupt = false,
                         bool in_run = false) {
    return message_of([&](pbf_writer& wait) {
        wait.add_uint64(1, begin_ns);
        wait.add_uint32(2, waker);
        wait.add_bool(3, by_interrupt);
        wait.add_bool(4, in_run);
    });
}

TEST(TraceDecoder, SamplesBeforeTheRecordingAreKeptApart) {
    const RawTrace raw = decoded(sequence_of_samples(3) + sample_of({.sequence = 3}));
    EXPECT_TRUE(raw.samples.empty() && raw.off_cpu.empty() && raw.earlier_waits.empty());
    ASSERT_EQ(raw.earlier_samples.size(), 1U);
    EXPECT_EQ(raw.earlier_samples[0].at_ns, at_ns);
    EXPECT_EQ(raw.earlier_samples[0].pid, 10U);
    EXPECT_EQ(raw.earlier_samples[0].tid, 11U);
}

TEST(TraceDecoder, WaitsBeforeTheRecordingEndedAtTheirTime) {
    const RawTrace raw = before(earlier_wait(at_ns - 50, 12, true, false));
    EXPECT_TRUE(raw.earlier_samples.empty());
    ASSERT_EQ(raw.earlier_waits.size(), 1U);
    EXPECT_EQ(raw.earlier_waits[0].begin_ns, at_ns - 50);
    EXPECT_EQ(raw.earlier_waits[0].end_ns, at_ns);
    EXPECT_EQ(raw.earlier_waits[0].tid, 11U);
    EXPECT_EQ(raw.earlier_waits[0].waker_tid, 12U);
    EXPECT_TRUE(raw.earlier_waits[0].by_interrupt);
    EXPECT_FALSE(raw.earlier_waits[0].in_run);
    const RawTrace other = before(earlier_wait(at_ns, tid_limit - 1, false, true));
    EXPECT_FALSE(other.earlier_waits.at(0).by_interrupt);
    EXPECT_TRUE(other.earlier_waits.at(0).in_run);
    for (const std::string& odd : {earlier_wait(at_ns + 1, 12), earlier_wait(at_ns, tid_limit)}) {
        EXPECT_TRUE(before(odd).earlier_waits.empty());
        EXPECT_EQ(before(odd).unreadable, 1U);
    }
}

TEST(TraceDecoder, TheStackOfAWakerBelongsToTheLastWait) {
    const std::string names = packet(
        [](pbf_writer& one) {
            pbf_writer interned(one, 12);
            pbf_writer(interned, 6).add_uint64(1, 1);
            pbf_writer stack(interned, 7);
            stack.add_uint64(1, 9);
            stack.add_uint64(2, 1);
        },
        3);
    const std::string of_waker = message_of([](pbf_writer& wait) { wait.add_bool(5, true); });
    const auto stack_of = [&](std::uint32_t waker) {
        const RawTrace raw = decoded(
            sequence_of_samples(3) + names +
            sample_of(
                {.sequence = 3, .more_field = history_wait, .more = earlier_wait(at_ns - 50, 12)}) +
            sample_of({.sequence = 3,
                       .tid = waker,
                       .stack = 9,
                       .more_field = history_wait,
                       .more = of_waker}));
        EXPECT_EQ(raw.earlier_waits.size(), 1U);
        EXPECT_EQ(raw.earlier_waits.at(0).stack, 0U);
        return raw.earlier_waits.at(0).waker_stack;
    };
    EXPECT_EQ(stack_of(12), 1U);
    EXPECT_EQ(stack_of(13), 0U);
    EXPECT_TRUE(before(of_waker).earlier_waits.empty());
}

TEST(TraceDecoder, NamesEndWithTheirSequence) {
    const std::string stack = packet([](pbf_writer& one) {
        pbf_writer interned(one, 12);
        pbf_writer(interned, 7).add_uint64(1, 9);
    });
    const std::string cleared = packet([](pbf_writer& one) { one.add_uint32(13, 1); });
    const std::string goes_on = packet([](pbf_writer& one) { one.add_uint32(13, 2); });
    EXPECT_EQ(decoded(stack + sample_of({.stack = 9})).unreadable, 0U);
    EXPECT_EQ(decoded(stack + goes_on + sample_of({.stack = 9})).unreadable, 0U);
    EXPECT_EQ(decoded(stack + cleared + sample_of({.stack = 9})).unreadable, 1U);
    EXPECT_EQ(decoded(stack + sample_of({.sequence = 2, .stack = 9})).unreadable, 1U);
}

TEST(TraceDecoder, SequencesHaveALimit) {
    std::string trace;
    const std::uint32_t allowed = 2 * cpu_limit + 1;
    for (std::uint32_t sequence = 0; sequence < allowed + 3; ++sequence)
        trace += packet([](pbf_writer&) {}, sequence);
    EXPECT_EQ(decoded(trace).unreadable, 3U);
}

std::string process_of(std::uint32_t pid, const std::vector<std::string>& command_line) {
    return packet_of(process_tree, message_of([&](pbf_writer& tree) {
                         pbf_writer process(tree, 1);
                         process.add_uint32(1, pid);
                         process.add_uint32(2, 7);
                         for (const std::string& part : command_line) process.add_string(3, part);
                         process.add_uint32(5, 1000);
                         process.add_uint64(7, 12'345);
                     }));
}

std::string description_of(std::uint32_t pid, const std::string& name,
                           const std::vector<std::string>& labels) {
    return packet_of(descriptor, message_of([&](pbf_writer& track) {
                         pbf_writer process(track, 3);
                         process.add_uint32(1, pid);
                         if (!name.empty()) process.add_string(6, name);
                         for (const std::string& label : labels) process.add_string(8, label);
                     }));
}

TEST(TraceDecoder, AProcessHasItsParentUserStartAndCommand) {
    const RawTrace raw = decoded(process_of(10, {"app", "--serve", "x"}));
    const Process& process = raw.processes.at(10);
    EXPECT_EQ(process.pid, 10U);
    EXPECT_EQ(process.parent_pid, 7U);
    EXPECT_EQ(process.uid, 1000U);
    EXPECT_EQ(process.started_ns, 12'345U);
    EXPECT_EQ(process.command_line, "app --serve x");
    const RawTrace cut = decoded(process_of(10, {std::string(5000, 'x'), "more"}));
    EXPECT_EQ(cut.processes.at(10).command_line, std::string(4096, 'x'));
    EXPECT_EQ(decoded(process_of(tid_limit - 1, {})).processes.size(), 1U);
    EXPECT_EQ(decoded(process_of(tid_limit, {})).unreadable, 1U);
    EXPECT_TRUE(decoded(process_of(tid_limit, {})).processes.empty());
}

TEST(TraceDecoder, NameAndUnitOfAProcessComeOnTheirOwn) {
    const std::string described = description_of(10, "app", {"app.service", "second"});
    for (const std::string& trace :
         {described + process_of(10, {"app"}), process_of(10, {"app"}) + described}) {
        const RawTrace raw = decoded(trace);
        EXPECT_EQ(raw.names.at(raw.processes.at(10).name), "app");
        EXPECT_EQ(raw.names.at(raw.processes.at(10).unit), "app.service");
        EXPECT_EQ(raw.processes.at(10).command_line, "app");
    }
    const RawTrace unnamed = decoded(description_of(10, "", {"app.service"}));
    EXPECT_EQ(unnamed.processes.at(10).pid, 10U);
    EXPECT_EQ(unnamed.processes.at(10).name, 0U);
    EXPECT_EQ(decoded(description_of(10, "app", {})).processes.at(10).pid, 10U);
    EXPECT_TRUE(decoded(description_of(10, "", {})).processes.empty());
    EXPECT_TRUE(decoded(description_of(tid_limit, "app", {"unit"})).processes.empty());
    const RawTrace cut =
        decoded(description_of(10, std::string(4097, 'n'), {std::string(4097, 'u')}));
    EXPECT_EQ(cut.names.at(cut.processes.at(10).name), std::string(4096, 'n'));
    EXPECT_EQ(cut.names.at(cut.processes.at(10).unit), std::string(4096, 'u'));
}

std::string thread_of(std::uint64_t pid, std::uint64_t tid, const std::string& name,
                      std::uint64_t time_ns = at_ns) {
    return packet(
        [&](pbf_writer& one) {
            pbf_writer tree(one, process_tree);
            pbf_writer thread(tree, 2);
            thread.add_uint64(1, tid);
            if (!name.empty()) thread.add_string(2, name);
            thread.add_uint64(3, pid);
        },
        1, time_ns);
}

std::string track_of(std::uint64_t pid, std::uint64_t tid, const std::string& name) {
    return packet_of(descriptor, message_of([&](pbf_writer& track) {
                         pbf_writer thread(track, 4);
                         thread.add_uint64(1, pid);
                         thread.add_uint64(2, tid);
                         thread.add_string(5, name);
                     }));
}

TEST(TraceDecoder, AThreadHasItsProcessAndLastName) {
    for (const std::string& trace : {thread_of(10, 11, "worker"), track_of(10, 11, "worker"),
                                     thread_of(10, 11, "first") + thread_of(0, 11, "worker"),
                                     thread_of(10, 11, "worker") + thread_of(10, 11, "")}) {
        const RawTrace raw = decoded(trace);
        ASSERT_EQ(raw.threads.size(), 1U);
        EXPECT_EQ(raw.threads.at(11).pid, 10U);
        EXPECT_EQ(raw.names.at(raw.threads.at(11).name), "worker");
        EXPECT_TRUE(raw.processes.empty());
    }
    const RawTrace cut = decoded(thread_of(10, 11, std::string(4097, 'n')));
    EXPECT_EQ(cut.names.at(cut.threads.at(11).name), std::string(4096, 'n'));
    for (const std::string& odd : {thread_of(10, tid_limit, "x"), thread_of(tid_limit, 11, "x")}) {
        EXPECT_TRUE(decoded(odd).threads.empty());
        EXPECT_EQ(decoded(odd).unreadable, 1U);
    }
}

TEST(TraceDecoder, AThreadIsKnownSinceItWasFirstSeen) {
    const RawTrace raw = decoded(thread_of(10, 11, "a", at_ns) + thread_of(10, 11, "b", at_ns - 5) +
                                 thread_of(10, 11, "c", at_ns + 5));
    EXPECT_EQ(raw.threads.at(11).first_seen_ns, at_ns - 5);
    EXPECT_EQ(raw.names.at(raw.threads.at(11).name), "c");
}

TEST(TraceDecoder, ADamagedPacketIsNumbered) {
    std::string damaged = thread_of(10, 11, "worker");
    damaged[1] = static_cast<char>(damaged[1] - 1);
    const auto raw = decode_trace(process_of(10, {"app"}) + damaged);
    ASSERT_FALSE(raw);
    EXPECT_EQ(raw.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(raw.error().message, HasSubstr("the trace is damaged in packet 2: "));
    EXPECT_TRUE(decoded("").names == std::vector<std::string>{""});
}

}  // namespace
}  // namespace lagtrap::analysis::trace_decoder_test
