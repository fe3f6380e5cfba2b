// What made a thread runnable.
#include <map>

#include "tests/unit/bpf_recorder/recorder.hpp"

namespace lagtrap::native::wake_cause_test {

namespace {

constexpr int softirq = 0x100, softirqs_disabled = 0x200, hardirq = 0x10000, nmi = 0x100000;
constexpr int preemption_wanted = static_cast<int>(0x80000000U);
constexpr unsigned int network_softirq = 3;

class WakeCause : public Recorder {
  protected:
    WakeCause() {
        native_set_preempt_count_place(offsetof(RunQueue, preempt_count));
        std::strcpy(network_.name, "eth7");
        std::strcpy(loopback_.name, "lo");
        std::strcpy(disk_.disk_name, "sda");
        disk_queue_.disk = &disk_;
        request_.q = &disk_queue_;
        task(101).task.__state = interruptible;
    }
    void on_cpu(int tid, int preempt_count = 0) {
        task(tid).queue.rq = reinterpret_cast<kernel::rq*>(&run_queue_);
        run_queue_.preempt_count = preempt_count;
        select(tid);
    }
    lagtrap_waking wake(int wakee = 101) {
        on_waking(&task(wakee).task);
        const auto found = take<lagtrap_waking>(LAGTRAP_RECORD_WAKING);
        EXPECT_EQ(found.size(), 1U);
        return found.empty() ? lagtrap_waking{} : found[0];
    }
    std::uint32_t cause() { return wake().cause; }

    // A CPU's run queue, and its preempt count behind it.
    struct RunQueue {
        char before[64];
        int preempt_count;
    } run_queue_{};
    kernel::net_device network_{}, loopback_{};
    kernel::gendisk disk_{};
    kernel::request_queue disk_queue_{};
    kernel::request request_{};
};

TEST_F(WakeCause, is_the_thread_that_runs) {
    kernel_.cpu = 3;
    on_cpu(201);
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.header.size_bytes, LAGTRAP_WAKING_LEAST_BYTES);
    EXPECT_EQ(found.header.at_ns, kernel_.now_ns);
    EXPECT_EQ(found.header.cpu, 3);
    EXPECT_EQ(found.waker_pid, 200U);
    EXPECT_EQ(found.waker_tid, 201U);
    EXPECT_EQ(found.wakee_pid, 100U);
    EXPECT_EQ(found.wakee_tid, 101U);
    EXPECT_EQ(found.wakee_priority, 120U);
    EXPECT_EQ(found.target_cpu, 3U);
    EXPECT_EQ(found.in_interrupt, LAGTRAP_INTERRUPT_NONE);
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_THREAD);
    EXPECT_EQ(counters().wakings, 1U);
}

TEST_F(WakeCause, is_a_signal_only_if_it_is_not_blocked_and_the_wait_can_be_interrupted) {
    on_cpu(201);
    Task& wakee = task(101);
    wakee.task.pending.signal.sig[0] = 1UL << 1;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_SIGNAL);
    wakee.task.blocked.sig[0] = 1UL << 1;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
    wakee.process.shared_pending.signal.sig[0] = 1UL << 2;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_SIGNAL);
    wakee.task.__state = uninterruptible;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
    wakee.task.__state = 0x100 | uninterruptible;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD) << "only its end interrupts the wait";
}

TEST_F(WakeCause, is_the_end_of_a_process_or_thread) {
    on_cpu(201);
    Task& wakee = task(101);
    wakee.task.pending.signal.sig[0] = 1UL << 8;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_KILLED);
    wakee.task.blocked.sig[0] = ~0UL;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_KILLED);
    wakee.task.__state = 0x100 | uninterruptible;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_KILLED);
    wakee.task.__state = uninterruptible;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
}

TEST_F(WakeCause, is_the_interrupt_of_a_device) {
    kernel::irqaction action{"nvme0q1"};
    on_cpu(201, hardirq);
    on_interrupt(77, &action);
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.header.size_bytes, sizeof(lagtrap_waking));
    EXPECT_EQ(found.in_interrupt, LAGTRAP_INTERRUPT_HARD);
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_DEVICE);
    EXPECT_EQ(found.number, 77U);
    EXPECT_STREQ(found.device, "nvme0q1");
    EXPECT_EQ(found.waker_tid, 201U);
    on_interrupt_end();
    const lagtrap_waking other = wake();
    EXPECT_EQ(other.cause, LAGTRAP_WAKE_INTERRUPT);
    EXPECT_EQ(other.number, 0U);
    EXPECT_STREQ(other.device, "");
}

TEST_F(WakeCause, of_a_softirq_is_its_kind) {
    on_cpu(201, softirq);
    on_softirq(9);
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.in_interrupt, LAGTRAP_INTERRUPT_SOFT);
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_INTERRUPT);
    EXPECT_EQ(found.number, 9U);
    EXPECT_FALSE(preempt_count_is_wrong);
}

TEST_F(WakeCause, is_that_of_the_innermost_level) {
    kernel::irqaction action{"eth7-rx"};
    kernel::sk_buff packet{&network_};
    on_cpu(201, softirq);
    on_softirq(network_softirq);
    on_packet(&packet);
    on_cpu(201, softirq | hardirq);
    on_interrupt(5, &action);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_DEVICE);
    on_cpu(201, softirq | nmi);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_DEVICE) << "an NMI counts as a hard interrupt";
    on_cpu(201, softirq | preemption_wanted);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_PACKET);
    on_cpu(201);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
}

TEST_F(WakeCause, is_a_timer_or_the_timeout_of_the_wakee) {
    kernel::hrtimer_sleeper own{&task(101).task}, others{&task(301).task};
    on_cpu(201, hardirq);
    on_timer(&own);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_TIMEOUT);
    on_timer_end();
    EXPECT_EQ(cause(), LAGTRAP_WAKE_INTERRUPT);
    on_timer(&others);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_TIMER);
}

TEST_F(WakeCause, is_a_timer_of_the_wheel_in_a_softirq) {
    struct WheelTimer {
        kernel::task_struct* task;
    } own{&task(101).task};
    on_cpu(201, softirq);
    on_softirq(1);
    on_wheel_timer(&own);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_TIMEOUT);
    kernel_.missing.insert("struct process_timer");
    on_wheel_timer(&own);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_TIMER);
    on_softirq(1);
    EXPECT_EQ(wake().number, 1U) << "the next softirq ends it";
}

TEST_F(WakeCause, is_a_packet_of_a_device_until_its_queue_is_empty) {
    kernel::sk_buff packet{&network_};
    on_cpu(201, softirq);
    on_softirq(network_softirq);
    on_packet(&packet);
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_PACKET);
    EXPECT_STREQ(found.device, "eth7");
    EXPECT_EQ(found.sender_tid, 0U);
    on_packets_end();
    EXPECT_EQ(cause(), LAGTRAP_WAKE_INTERRUPT);
}

TEST_F(WakeCause, of_a_packet_on_loopback_has_its_sender) {
    kernel::sk_buff packet{&loopback_}, other{&network_};
    on_cpu(305);
    on_local_packet(&packet);
    on_cpu(201, softirq);
    on_softirq(network_softirq);
    on_packet(&packet);
    lagtrap_waking found = wake();
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_PACKET);
    EXPECT_EQ(found.sender_pid, 300U);
    EXPECT_EQ(found.sender_tid, 305U);
    EXPECT_STREQ(found.device, "lo");
    // A bridge passes on the same packet with another device.
    packet.dev = &network_;
    on_packet(&packet);
    found = wake();
    EXPECT_EQ(found.sender_tid, 305U);
    EXPECT_STREQ(found.device, "eth7");
    on_packet(&other);
    EXPECT_EQ(wake().sender_tid, 0U);
    on_packet(&packet);
    EXPECT_EQ(wake().sender_tid, 0U) << "it was received once";
}

TEST_F(WakeCause, has_no_sender_if_the_packet_came_out_of_another_device) {
    kernel::sk_buff packet{&loopback_};
    on_cpu(305);
    on_local_packet(&packet);
    packet.dev = &network_;
    on_cpu(201, softirq);
    on_softirq(network_softirq);
    on_packet(&packet);
    EXPECT_EQ(wake().sender_tid, 0U);
}

TEST_F(WakeCause, has_the_sender_of_a_packet_that_a_softirq_forwards) {
    // Apart, because the programs tell packets apart by 64 bytes.
    alignas(64) kernel::sk_buff packet{&loopback_};
    alignas(64) kernel::sk_buff made{&loopback_};
    alignas(64) kernel::sk_buff other{&network_};
    on_cpu(305);
    on_local_packet(&packet);
    on_cpu(201, softirq);
    on_softirq(network_softirq);
    on_packet(&packet);
    on_local_packet(&packet);
    on_packet(&other);
    EXPECT_EQ(wake().sender_tid, 0U);
    on_packet(&packet);
    EXPECT_EQ(wake().sender_tid, 305U);
    on_local_packet(&made);
    on_packet(&made);
    EXPECT_EQ(wake().sender_tid, 0U) << "the softirq's own packet has no thread that sent it";
}

TEST_F(WakeCause, is_a_delayed_acknowledgement_if_its_timer_sent_the_packet) {
    struct Timer {
        void* function;
    } timer{reinterpret_cast<void*>(0x1000)};
    kernel::sk_buff packet{&loopback_}, answer{&loopback_};
    kernel_.missing.insert("struct process_timer");
    const auto after_timer_of = [&](const char* function) {
        kernel_.names[0x1000] = function;
        on_cpu(201, softirq);
        on_softirq(1);
        on_wheel_timer(&timer);
        on_local_packet(&packet);
        on_softirq(network_softirq);
        on_packet(&packet);
        return cause();
    };
    EXPECT_EQ(after_timer_of("tcp_write_timer"), LAGTRAP_WAKE_PACKET);
    EXPECT_EQ(after_timer_of("tcp_delack_timers"), LAGTRAP_WAKE_PACKET);
    EXPECT_EQ(after_timer_of("tcp_delack_timer"), LAGTRAP_WAKE_DELAYED_ACK);
    // What that packet released was held back until the acknowledgement came.
    on_local_packet(&answer);
    on_packet(&answer);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_DELAYED_ACK);
    on_packets_end();
    on_local_packet(&answer);
    on_packet(&answer);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_PACKET);
}

TEST_F(WakeCause, is_a_request_that_a_disk_completed_a_moment_ago) {
    on_cpu(201, hardirq);
    on_request_done(&request_);
    kernel_.now_ns += ms;
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_DISK);
    EXPECT_STREQ(found.device, "sda");
    kernel_.now_ns += 1;
    EXPECT_EQ(cause(), LAGTRAP_WAKE_INTERRUPT);
}

TEST_F(WakeCause, of_an_idle_cpu_is_unknown_outside_of_interrupts) {
    on_cpu(0);
    task(0).task.tgid = 0;
    select(0);
    const lagtrap_waking found = wake();
    EXPECT_EQ(found.cause, LAGTRAP_WAKE_INTERRUPT);
    EXPECT_EQ(found.in_interrupt, LAGTRAP_INTERRUPT_NONE);
    native_set_preempt_count_place(0);
    const lagtrap_waking unknown = wake();
    EXPECT_EQ(unknown.cause, LAGTRAP_WAKE_UNKNOWN);
    EXPECT_EQ(unknown.in_interrupt, 1U) << "the idle thread wakes nobody itself";
    EXPECT_EQ(unknown.header.size_bytes, LAGTRAP_WAKING_LEAST_BYTES);
    on_cpu(201);
    native_set_preempt_count_place(0);
    EXPECT_EQ(wake().in_interrupt, 0U);
}

TEST_F(WakeCause, is_a_packet_that_the_thread_itself_delivers_with_softirqs_disabled) {
    kernel::sk_buff packet{&network_};
    on_cpu(201, softirqs_disabled);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
    on_packet(&packet);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_PACKET);
    on_cpu(202, softirqs_disabled);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD) << "another thread delivered it";
    on_cpu(201);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD) << "softirqs are enabled again";
}

TEST_F(WakeCause, is_the_thread_itself_once_it_has_delivered_all_packets) {
    kernel::sk_buff packet{&network_};
    on_cpu(201, softirqs_disabled);
    on_packet(&packet);
    on_cpu(201, 1);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD) << "only preemption is disabled";
    on_cpu(201, softirqs_disabled);
    on_packets_end();
    EXPECT_EQ(cause(), LAGTRAP_WAKE_THREAD);
}

TEST_F(WakeCause, of_a_thread_and_of_interrupts_are_kept_apart) {
    kernel::sk_buff packet{&network_};
    kernel::irqaction action{"nvme0q1"};
    on_cpu(201, softirqs_disabled);
    on_packet(&packet);
    on_cpu(201, softirqs_disabled | softirq);
    on_softirq(9);
    on_cpu(201, softirqs_disabled | softirq | hardirq);
    on_interrupt(5, &action);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_DEVICE);
    on_interrupt_end();
    EXPECT_EQ(cause(), LAGTRAP_WAKE_INTERRUPT);
    on_cpu(201, softirqs_disabled | softirq);
    EXPECT_EQ(wake().number, 9U);
    on_cpu(201, softirqs_disabled);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_PACKET);
}

// The programs know only one of two packets whose addresses have the same hash.
TEST_F(WakeCause, of_a_packet_is_not_the_sender_of_another_one) {
    struct alignas(64) Place {
        kernel::sk_buff packet;
    };
    std::vector<Place> places(4097, Place{{&loopback_}});
    std::map<std::uint64_t, kernel::sk_buff*> by_hash;
    kernel::sk_buff *one = nullptr, *same = nullptr;
    for (Place& place : places) {
        const auto address = reinterpret_cast<std::uint64_t>(&place.packet);
        const auto [found, is_new] =
            by_hash.try_emplace(((address >> 6) * 0x9e3779b97f4a7c15ULL) >> 52, &place.packet);
        if (is_new) continue;
        one = found->second;
        same = &place.packet;
        break;
    }
    ASSERT_NE(same, nullptr);
    const auto receive = [&](kernel::sk_buff* packet) {
        on_cpu(201, softirq);
        on_softirq(network_softirq);
        on_packet(packet);
        return wake().sender_tid;
    };
    on_cpu(305);
    on_local_packet(one);
    EXPECT_EQ(receive(same), 0U);
    EXPECT_EQ(receive(one), 305U) << "it is still known";
    on_cpu(305);
    on_local_packet(one);
    // Another CPU sends the other one while this CPU reads.
    kernel_.at_barrier = [&] {
        on_cpu(405);
        on_local_packet(same);
        on_cpu(201, softirq);
    };
    EXPECT_EQ(receive(one), 0U);
}

TEST_F(WakeCause, of_a_packet_is_only_the_timer_that_sent_it) {
    struct Timer {
        void* function;
    } timer{reinterpret_cast<void*>(0x1000)};
    kernel::hrtimer_sleeper other{&task(301).task};
    kernel::sk_buff packet{&loopback_};
    kernel_.missing.insert("struct process_timer");
    kernel_.names[0x1000] = "tcp_delack_timer";
    on_cpu(201, softirq);
    on_softirq(1);
    on_wheel_timer(&timer);
    on_timer(&other);
    on_local_packet(&packet);
    on_softirq(network_softirq);
    on_packet(&packet);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_PACKET);
}

TEST_F(WakeCause, is_not_recorded_outside_of_recordings) {
    on_cpu(201);
    recording.on = 0;
    on_waking(&task(101).task);
    EXPECT_TRUE(take(LAGTRAP_RECORD_WAKING).empty());
    EXPECT_EQ(counters().wakings, 0U);
}

TEST_F(WakeCause, is_counted_if_it_is_lost) {
    on_cpu(201);
    fill_ring();
    on_waking(&task(101).task);
    EXPECT_EQ(counters().wakings, 1U);
    EXPECT_EQ(counters().wakings_lost, 1U);
}

TEST_F(WakeCause, the_preempt_count_is_that_of_the_cpu) {
    on_cpu(201, softirq | preemption_wanted);
    EXPECT_EQ(native_preempt_count(), softirq);
    task(201).task.softirq_disable_cnt = 0x10300;
    EXPECT_EQ(native_preempt_count(), 0x300) << "only the softirq bits of the thread's own count";
    kernel_.missing.insert("task->softirq_disable_cnt");
    EXPECT_EQ(native_preempt_count(), softirq);
    kernel_.missing.insert("task->se.cfs_rq");
    EXPECT_EQ(native_preempt_count(), -1);
}

TEST_F(WakeCause, a_preempt_count_that_is_elsewhere_is_used_no_more) {
    on_cpu(201, softirqs_disabled);
    on_softirq(1);
    EXPECT_TRUE(preempt_count_is_wrong);
    EXPECT_EQ(native_preempt_count(), -1);
    EXPECT_EQ(cause(), LAGTRAP_WAKE_UNKNOWN);
}

TEST_F(WakeCause, levels_are_in_the_bits_of_the_count) {
    enum { thread, softirqs, hard, levels, unknown };
    EXPECT_EQ(native_level_of(-1), unknown);
    EXPECT_EQ(native_level_of(0), thread);
    EXPECT_EQ(native_level_of(0xff), thread);
    EXPECT_EQ(native_level_of(0x100), softirqs);
    EXPECT_EQ(native_level_of(0x200), thread);
    EXPECT_EQ(native_level_of(0x300), softirqs);
    EXPECT_EQ(native_level_of(0x10100), hard);
    EXPECT_EQ(native_level_of(0xf0000), hard);
    EXPECT_EQ(native_level_of(0x100000), hard);
    EXPECT_EQ(native_level_of(0x1000000), thread);
}

}  // namespace

}  // namespace lagtrap::native::wake_cause_test
