/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * Tracks what each CPU does besides running its thread: the interrupt, timer, packet or request
 * it handles. A wakeup from one of these is not caused by the thread that happened to be on the
 * CPU.
 *
 * The programs run only during a recording. Levels nest: a device interrupt preempts a softirq,
 * which preempts a thread.
 */
#ifndef LAGTRAP_BPF_WAKE_CAUSE_BPF_H
#define LAGTRAP_BPF_WAKE_CAUSE_BPF_H

#include "bpf/interrupt_level.bpf.h"
#include "bpf/kernel.bpf.h"
#include "bpf/records.h"

/* What runs at one level of a CPU. */
struct level_now {
    __u64 object;     /* address of the irqaction, net_device or gendisk */
    __u64 packet;     /* address of the sk_buff */
    __u64 address;    /* scratch */
    __u64 timer_task; /* TIMER: the thread it wakes if it is a timeout */
    __u64 at_ns;      /* DISK: when the request completed */
    __u64 pid_tid;    /* thread level: process and thread */
    __u64 sender;   /* PACKET: process and thread as from bpf_get_current_pid_tgid(); 0: unknown */
    __u64 function; /* TIMER: of the timer wheel */
    __u32 cause;    /* enum lagtrap_wake_cause; 0: nothing specific */
    __u32 number;   /* of the interrupt, or kind of softirq */
    __u32 by_late_ack; /* PACKET: sent after a delayed ACK arrived */
};

struct cpu_now {
    struct level_now levels[LEVELS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cpu_now);
} now_on_cpu SEC(".maps");

/* Packets between two programs of this machine (loopback, veth) that were sent but not yet
 * received, by a hash of their address. A collision only loses the name of a sender. */
#define LOCAL_PACKETS 4096
struct local_packet {
    __u64 packet;
    __u64 device;
    __u64 sender;
    __u64 by_late_ack;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, LOCAL_PACKETS);
    __type(key, __u32);
    __type(value, struct local_packet);
} local_packets SEC(".maps");

static __always_inline struct level_now* level_now(enum context_level level) {
    __u32 zero = 0;
    struct cpu_now* cpu = bpf_map_lookup_elem(&now_on_cpu, &zero);
    if (!cpu || level >= LEVELS) return NULL;
    return level == LEVEL_HARDIRQ   ? &cpu->levels[2]
           : level == LEVEL_SOFTIRQ ? &cpu->levels[1]
                                    : &cpu->levels[0];
}

static __always_inline void begin_work(struct level_now* now, __u32 cause, const void* object,
                                       __u32 number) {
    now->cause = cause;
    now->object = (__u64)object;
    now->number = number;
    now->packet = 0;
    now->sender = 0;
    now->timer_task = 0;
    now->function = 0;
    now->by_late_ack = 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_interrupt, int number, struct irqaction* action) {
    struct level_now* now = level_now(LEVEL_HARDIRQ);
    if (now) begin_work(now, LAGTRAP_WAKE_DEVICE, action, number);
    return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_interrupt_end) {
    struct level_now* now = level_now(LEVEL_HARDIRQ);
    if (now) now->cause = 0;
    return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq, unsigned int kind) {
    int count = preempt_count_now();
    if (count >= 0 && !(count & SOFTIRQ_RUNS)) preempt_count_is_wrong = true;
    struct level_now* now = level_now(LEVEL_SOFTIRQ);
    if (now) begin_work(now, 0, NULL, kind);
    return 0;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_timer, struct hrtimer* timer) {
    struct level_now* now = level_now(level_of(preempt_count_now()));
    if (!now) return 0;
    begin_work(now, LAGTRAP_WAKE_TIMER, NULL, 0);
    now->timer_task = (__u64)BPF_CORE_READ((struct hrtimer_sleeper*)timer, task);
    return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(on_timer_end) {
    struct level_now* now = level_now(level_of(preempt_count_now()));
    if (now) now->cause = 0;
    return 0;
}

/* Timers of the timer wheel run in a softirq, one after the other; the next softirq_entry ends
 * the last. */
SEC("tp_btf/timer_expire_entry")
int BPF_PROG(on_wheel_timer, struct timer_list* timer) {
    struct level_now* now = level_now(LEVEL_SOFTIRQ);
    if (!now) return 0;
    begin_work(now, LAGTRAP_WAKE_TIMER, NULL, now->number);
    now->function = (__u64)BPF_CORE_READ(timer, function);
    if (bpf_core_type_exists(struct process_timer))
        now->timer_task = (__u64)BPF_CORE_READ((struct process_timer*)timer, task);
    return 0;
}

/* Converts a pointer to a number: the verifier forbids arithmetic on pointers, but does not
 * track values stored in a map. */
static __always_inline __u64 address_of(struct level_now* now, const void* pointer) {
    *(volatile __u64*)&now->address = (__u64)pointer;
    return *(volatile __u64*)&now->address;
}

static __always_inline struct local_packet* local_packet_of(__u64 packet) {
    __u32 place = ((packet >> 6) * 0x9e3779b97f4a7c15ULL) >> 52; /* 12 bits: LOCAL_PACKETS */
    return bpf_map_lookup_elem(&local_packets, &place);
}

/* Whether a packet sent now is an ACK that its sender had delayed (net/ipv4/tcp_timer.c), or was
 * held back until that arrived (Nagle's algorithm, or a full window). */
static __always_inline bool is_sent_by_late_ack(const struct level_now* now) {
    if (now->cause == LAGTRAP_WAKE_PACKET) return now->by_late_ack;
    if (now->cause != LAGTRAP_WAKE_TIMER || !now->function) return false;
    /* Compares words: the verifier follows each comparison both ways, and comparing letters
     * takes too many. */
    union {
        char name[24];
        __u64 words[3];
    } found = {}, wanted = {.name = "tcp_delack_timer"};
    __u64 function = now->function;
    static const char format[] = "%ps";
    bpf_snprintf(found.name, sizeof(found.name), format, &function, sizeof(function));
    __u64 other = 0;
    for (int i = 0; i < 3; i++) other |= found.words[i] ^ wanted.words[i];
    return other == 0;
}

/* A packet enters the receive path without having left the machine: on loopback, or from one end
 * of a veth to the other. If a thread's own code does that, it is the sender; a softirq forwards
 * what it received. */
SEC("tp_btf/netif_rx")
int BPF_PROG(on_local_packet, struct sk_buff* skb) {
    enum context_level level = level_of(preempt_count_now());
    struct level_now* now = level_now(level);
    if (!now) return 0;
    __u64 packet = address_of(now, skb);
    struct local_packet* local = local_packet_of(packet);
    if (!local) return 0;
    __u64 sender = 0;
    if (level == LEVEL_THREAD)
        sender = bpf_get_current_pid_tgid();
    else if (now->cause == LAGTRAP_WAKE_PACKET && now->packet == packet)
        sender = now->sender;
    bool by_late_ack = level == LEVEL_SOFTIRQ && is_sent_by_late_ack(now);
    local->packet = 0;
    barrier();
    local->device = (__u64)FOR_POINTERS(skb)->dev;
    local->sender = sender;
    local->by_late_ack = by_late_ack;
    barrier();
    local->packet = packet;
    return 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(on_packet, struct sk_buff* skb) {
    struct level_now* now = level_now(level_of(preempt_count_now()));
    if (!now) return 0;
    __u64 device = address_of(now, FOR_POINTERS(skb)->dev), packet = address_of(now, skb);
    /* A bridge passes on the same packet with another device. */
    __u64 sender = now->cause == LAGTRAP_WAKE_PACKET && now->packet == packet ? now->sender : 0;
    bool by_late_ack = false;
    struct local_packet* local = local_packet_of(packet);
    if (local && local->packet == packet) {
        __u64 local_sender = local->device == device ? local->sender : 0;
        bool local_by_late_ack = local->by_late_ack;
        barrier();
        if (local->packet == packet) {
            sender = local_sender;
            by_late_ack = local_by_late_ack;
        }
        local->packet = 0;
    }
    begin_work(now, LAGTRAP_WAKE_PACKET, (const void*)device, now->number);
    now->packet = packet;
    now->sender = sender;
    now->by_late_ack = by_late_ack;
    now->pid_tid = bpf_get_current_pid_tgid();
    return 0;
}

/* A device's queue was emptied; later wakeups are not caused by its packets. */
SEC("tp_btf/napi_poll")
int BPF_PROG(on_packets_end) {
    struct level_now* now = level_now(level_of(preempt_count_now()));
    if (now) now->cause = 0;
    return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_request_done, struct request* request) {
    struct level_now* now = level_now(level_of(preempt_count_now()));
    if (!now) return 0;
    begin_work(now, LAGTRAP_WAKE_DISK, FOR_POINTERS(request)->q->disk, now->number);
    now->at_ns = bpf_ktime_get_ns();
    return 0;
}

/* Some completions run in interrupts whose end no tracepoint shows; wakeups caused by them
 * follow at once. */
#define COMPLETION_NS 1000000

/* A thread's own code that delivers packets with softirqs disabled: it polls a device, or is a
 * tunnel's program. */
static __always_inline bool delivers_packets(const struct level_now* now, __u64 pid_tid) {
    return now->cause == LAGTRAP_WAKE_PACKET && now->pid_tid == pid_tid;
}

#define WAITS_UNTIL_SIGNAL 1         /* TASK_INTERRUPTIBLE, include/linux/sched.h */
#define WAITS_UNTIL_KILLED 0x100     /* TASK_WAKEKILL */
#define KILL_SIGNAL (1UL << (9 - 1)) /* SIGKILL; also what ends the other threads of a process */

/* The kernel makes a signal pending before it wakes the thread, and takes SIGKILL back once the
 * thread ends: its waits from then on, such as those of a core dump, end as others do. */
static __always_inline __u32 cause_by_thread(struct task_struct* wakee) {
    unsigned int state = wakee->__state;
    if (!(state & (WAITS_UNTIL_SIGNAL | WAITS_UNTIL_KILLED))) return LAGTRAP_WAKE_THREAD;
    const struct signal_struct* process = FOR_POINTERS(wakee)->signal;
    unsigned long pending = wakee->pending.signal.sig[0];
    if (pending & KILL_SIGNAL) return LAGTRAP_WAKE_KILLED;
    pending = (pending | process->shared_pending.signal.sig[0]) & ~wakee->blocked.sig[0];
    return pending && (state & WAITS_UNTIL_SIGNAL) ? LAGTRAP_WAKE_SIGNAL : LAGTRAP_WAKE_THREAD;
}

/* Sets what ended the wait. Returns the record's size in bytes. */
static __always_inline __u32 find_cause(struct lagtrap_waking* record, struct task_struct* wakee) {
    int preempt_count = preempt_count_now();
    enum context_level level = level_of(preempt_count);
    __u64 pid_tid = bpf_get_current_pid_tgid();
    bool by_thread = level == LEVEL_THREAD && (__u32)pid_tid != 0;
    if (by_thread && !(preempt_count & SOFTIRQ_COUNT)) {
        record->cause = cause_by_thread(wakee);
        return LAGTRAP_WAKING_LEAST_BYTES;
    }
    struct level_now* now = level_now(level);
    if (!now) {
        record->in_interrupt =
            (__u32)pid_tid == 0; /* the idle thread itself does not wake others */
        return LAGTRAP_WAKING_LEAST_BYTES;
    }
    if (by_thread && !delivers_packets(now, pid_tid)) {
        record->cause = cause_by_thread(wakee);
        return LAGTRAP_WAKING_LEAST_BYTES;
    }
    record->in_interrupt = level == LEVEL_HARDIRQ   ? LAGTRAP_INTERRUPT_HARD
                           : level == LEVEL_SOFTIRQ ? LAGTRAP_INTERRUPT_SOFT
                                                    : LAGTRAP_INTERRUPT_NONE;
    record->cause = level == LEVEL_THREAD && !by_thread ? 0 : now->cause;
    if (record->cause == LAGTRAP_WAKE_DISK && record->header.at_ns - now->at_ns > COMPLETION_NS)
        record->cause = 0;
    const void *name = NULL, *object = (const void*)now->object;
    switch (record->cause) {
        case LAGTRAP_WAKE_TIMER:
            if (now->timer_task == (__u64)wakee) record->cause = LAGTRAP_WAKE_TIMEOUT;
            break;
        case LAGTRAP_WAKE_PACKET:
            record->sender_pid = now->sender >> 32;
            record->sender_tid = (__u32)now->sender;
            name = ((struct net_device*)object)->name;
            if (now->by_late_ack) record->cause = LAGTRAP_WAKE_DELAYED_ACK;
            break;
        case LAGTRAP_WAKE_DISK: name = ((struct gendisk*)object)->disk_name; break;
        case LAGTRAP_WAKE_DEVICE:
            name = BPF_CORE_READ((struct irqaction*)object, name);
            record->number = now->number;
            break;
        default:
            record->cause = LAGTRAP_WAKE_INTERRUPT;
            record->number = level == LEVEL_SOFTIRQ ? now->number : 0;
    }
    if (name) bpf_probe_read_kernel_str(record->device, sizeof(record->device), name);
    return sizeof(*record);
}

#endif
