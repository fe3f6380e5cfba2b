#include "analysis/block_reason.hpp"

#include <algorithm>
#include <array>

#include "analysis/function_pattern.hpp"
#include "analysis/kernel_functions.hpp"
#include "analysis/plumbing.hpp"

namespace lagtrap::analysis {

namespace {

// Earlier entries take precedence, so that a page fault that waits for the disk is a page fault,
// and a kernel lock taken in a system call is that lock.
struct Entry {
    std::string_view pattern;  // function_pattern.hpp
    BlockReason reason;
};

constexpr auto all_facts = std::to_array<BlockReasonFacts>({
    {BlockReason::StoppedBySignal, "stopped by a signal", WaitKind::Stopped, false},
    {BlockReason::StoppedByDebugger, "stopped by a debugger", WaitKind::Stopped, false},
    {BlockReason::Frozen, "frozen", WaitKind::Other, false},
    {BlockReason::UserPageFault, "page fault (userfaultfd)", WaitKind::Other, false},
    {BlockReason::MemoryLimit, "memory limit of its control group", WaitKind::GroupMemory, true},
    {BlockReason::FreeingMemory, "freeing memory", WaitKind::Memory, true},
    {BlockReason::CpuLimit, "CPU limit of its control group", WaitKind::CpuLimit, false},
    {BlockReason::Futex, "lock (futex)", WaitKind::Futex, false},
    {BlockReason::Semaphore, "lock (semaphore)", WaitKind::Semaphore, false},
    {BlockReason::FileLock, "file lock", WaitKind::FileLock, false},
    {BlockReason::Lease, "lease on a file", WaitKind::FileLock, false},
    {BlockReason::KernelLock, "lock in the kernel", WaitKind::KernelLock, false},
    {BlockReason::MemoryMap, "memory map of a process (mmap_lock)", WaitKind::MemoryMap, false},
    {BlockReason::FrozenFiles, "frozen file system", WaitKind::FrozenFiles, false},
    {BlockReason::FrozenMapping, "page fault (frozen file system)", WaitKind::FrozenMapping, false},
    {BlockReason::PageFault, "page fault", WaitKind::PageFault, true},
    {BlockReason::SwapFault, "page fault (swap)", WaitKind::PageFault, true},
    {BlockReason::Sleep, "sleep", WaitKind::Sleep, true},
    {BlockReason::FileSystemServer, "FUSE file system", WaitKind::Other, false},
    {BlockReason::NetworkFileSystem, "network file system", WaitKind::Other, false},
    {BlockReason::DiskTooMuchUnwritten, "disk (too much unwritten)", WaitKind::Disk, true},
    {BlockReason::Disk, "disk", WaitKind::Disk, true},
    {BlockReason::DiskAsynchronous, "disk (asynchronous)", WaitKind::Disk, true},
    {BlockReason::Events, "events", WaitKind::Events, false},
    {BlockReason::IoUring, "events (io_uring)", WaitKind::Events, false},
    {BlockReason::Timer, "sleep (timer)", WaitKind::Sleep, true},
    {BlockReason::LocalSocket, "local socket", WaitKind::LocalSocket, false},
    {BlockReason::Network, "network", WaitKind::Network, false},
    {BlockReason::Socket, "socket", WaitKind::Network, false},
    {BlockReason::Pipe, "pipe", WaitKind::Pipe, false},
    {BlockReason::ChildProcess, "child process", WaitKind::Child, false},
    {BlockReason::ChildStart, "child process (vfork)", WaitKind::ChildStart, false},
    {BlockReason::Signal, "signal", WaitKind::UnixSignal, false},
    {BlockReason::MessageQueue, "message queue", WaitKind::Other, false},
    {BlockReason::Terminal, "terminal", WaitKind::Other, false},
    {BlockReason::FileCheck, "check of a file (fanotify)", WaitKind::Other, false},
    {BlockReason::CallCheck, "check of a system call (seccomp)", WaitKind::Other, false},
    {BlockReason::AutomaticMount, "automatic mount (autofs)", WaitKind::Other, false},
    {BlockReason::CpuChange, "change of CPU", WaitKind::Other, false},
    {BlockReason::KernelHelper, "helper program of the kernel", WaitKind::Other, false},
    {BlockReason::KernelWork, "work of the kernel", WaitKind::Other, false},
    {BlockReason::RcuGracePeriod, "kernel (RCU grace period)", WaitKind::Other, false},
    {BlockReason::KernelSleep, "sleep in the kernel", WaitKind::Other, true},
    {BlockReason::NoWork, "no work (kernel worker)", WaitKind::Other, false},
    {BlockReason::KernelThread, "kernel thread", WaitKind::Other, false},
    {BlockReason::Input, "input", WaitKind::Other, false},
    {BlockReason::Output, "output", WaitKind::Other, false},
    {BlockReason::StoppedOrFrozen, "stopped or frozen", WaitKind::Stopped, false},
    {BlockReason::InKernel, "in the kernel", WaitKind::Other, false},
    {BlockReason::Unknown, "unknown reason", WaitKind::Other, false},
});
static_assert(all_facts.back().reason == BlockReason::Unknown &&
              all_facts.size() == static_cast<std::size_t>(BlockReason::Unknown) + 1);

constexpr auto table = std::to_array<Entry>({
    {"do_signal_stop", BlockReason::StoppedBySignal},
    {"ptrace_stop", BlockReason::StoppedByDebugger},
    {"do_freezer_trap", BlockReason::Frozen},
    {"__refrigerator", BlockReason::Frozen},
    {"handle_userfault", BlockReason::UserPageFault},
    {"mem_cgroup_handle_over_high", BlockReason::MemoryLimit},
    {"__mem_cgroup_handle_over_high", BlockReason::MemoryLimit},
    {"try_to_free_mem_cgroup_pages", BlockReason::MemoryLimit},
    {"throttle_direct_reclaim", BlockReason::FreeingMemory},
    {"try_to_free_pages", BlockReason::FreeingMemory},
    {"__alloc_pages_direct_compact", BlockReason::FreeingMemory},
    {"throttle_cfs_rq*", BlockReason::CpuLimit},

    {"synchronize_rcu*", BlockReason::RcuGracePeriod},
    {"synchronize_net", BlockReason::RcuGracePeriod},
    {"__wait_rcu_gp", BlockReason::RcuGracePeriod},
    {"synchronize_srcu*", BlockReason::RcuGracePeriod},
    {"__synchronize_srcu*", BlockReason::RcuGracePeriod},
    {"rcu_barrier*", BlockReason::RcuGracePeriod},

    {"futex_lock_pi*", BlockReason::Futex},
    {"__futex_wait", BlockReason::Futex},
    {"futex_wait*", BlockReason::Futex},
    {"futex_do_wait", BlockReason::Futex},
    {"do_futex", BlockReason::Futex},
    {"do_semtimedop", BlockReason::Semaphore},
    {"__do_semtimedop", BlockReason::Semaphore},
    {"fcntl_setlk*", BlockReason::FileLock},
    {"locks_lock_inode_wait", BlockReason::FileLock},
    {"flock_lock_inode_wait", BlockReason::FileLock},
    {"__break_lease", BlockReason::Lease},
    {"fanotify_handle_event", BlockReason::FileCheck},
    {"seccomp_do_user_notification", BlockReason::CallCheck},
    {"autofs_wait", BlockReason::AutomaticMount},

    {"rwsem_down_*", BlockReason::KernelLock},
    {"__mutex_lock*", BlockReason::KernelLock},
    {"mutex_lock*", BlockReason::KernelLock},
    {"rt_mutex_slowlock*", BlockReason::KernelLock},
    {"__rt_mutex_slowlock*", BlockReason::KernelLock},
    {"percpu_rwsem_wait", BlockReason::KernelLock},
    {"__percpu_down_read", BlockReason::KernelLock},
    {"percpu_down_write", BlockReason::KernelLock},
    {"__down*", BlockReason::KernelLock},
    {"d_alloc_parallel", BlockReason::KernelLock},

    {"filemap_fault", BlockReason::PageFault},
    {"do_swap_page", BlockReason::SwapFault},
    {"handle_mm_fault", BlockReason::PageFault},
    {"do_user_addr_fault", BlockReason::PageFault},

    {"hrtimer_nanosleep", BlockReason::Sleep},
    {"do_nanosleep", BlockReason::Sleep},
    {"common_nsleep*", BlockReason::Sleep},

    {"fuse_dev_do_read", BlockReason::Events},
    {"fuse_dev_read", BlockReason::Events},
    {"fuse_dev_splice_read", BlockReason::Events},
    {"fuse_*", BlockReason::FileSystemServer},
    {"request_wait_answer", BlockReason::FileSystemServer},
    {"nfs_*", BlockReason::NetworkFileSystem},
    {"nfs4_*", BlockReason::NetworkFileSystem},
    {"rpc_wait_bit_killable", BlockReason::NetworkFileSystem},
    {"cifs_*", BlockReason::NetworkFileSystem},
    {"smb2_*", BlockReason::NetworkFileSystem},
    {"balance_dirty_pages*", BlockReason::DiskTooMuchUnwritten},
    {"jbd2_*", BlockReason::Disk},
    {"ext4_*", BlockReason::Disk},
    {"xfs_*", BlockReason::Disk},
    {"btrfs_*", BlockReason::Disk},
    {"f2fs_*", BlockReason::Disk},
    {"blkdev_*", BlockReason::Disk},
    {"blk_*", BlockReason::Disk},
    {"submit_bio_wait", BlockReason::Disk},
    {"bio_await*", BlockReason::Disk},
    {"wbt_wait", BlockReason::Disk},
    {"rq_qos_wait", BlockReason::Disk},
    {"folio_wait_*", BlockReason::Disk},
    {"__folio_lock*", BlockReason::Disk},
    {"wait_on_page*", BlockReason::Disk},
    {"wait_on_buffer", BlockReason::Disk},
    {"__wait_on_buffer", BlockReason::Disk},
    {"__filemap_fdatawait_range", BlockReason::Disk},
    {"file_write_and_wait_range", BlockReason::Disk},
    {"do_fsync", BlockReason::Disk},
    {"vfs_fsync_range", BlockReason::Disk},
    {"sync_inodes_sb", BlockReason::Disk},
    {"inode_wait_for_writeback", BlockReason::Disk},
    {"__inode_wait_for_writeback", BlockReason::Disk},
    {"wb_wait_for_completion", BlockReason::Disk},
    {"blkcg_maybe_throttle_current", BlockReason::Disk},
    {"read_events", BlockReason::DiskAsynchronous},
    {"dm_*", BlockReason::Disk},
    {"md_*", BlockReason::Disk},
    {"nvme_*", BlockReason::Disk},

    {"ep_poll", BlockReason::Events},
    {"do_epoll_wait", BlockReason::Events},
    {"do_epoll_pwait*", BlockReason::Events},
    {"do_sys_poll", BlockReason::Events},
    {"do_poll", BlockReason::Events},
    {"do_select", BlockReason::Events},
    {"core_sys_select", BlockReason::Events},
    {"poll_schedule_timeout*", BlockReason::Events},
    {"io_cqring_wait*", BlockReason::IoUring},
    {"eventfd_read", BlockReason::Events},
    {"eventfd_write", BlockReason::Events},
    {"timerfd_read*", BlockReason::Timer},
    {"inotify_read", BlockReason::Events},
    {"fanotify_read", BlockReason::Events},
    {"signalfd_*", BlockReason::Events},
    {"perf_read", BlockReason::Events},
    {"seccomp_notify_*", BlockReason::Events},
    {"userfaultfd_*", BlockReason::Events},
    {"evdev_read", BlockReason::Events},
    {"tun_*", BlockReason::Events},
    {"do_accept", BlockReason::Events},
    {"inet_csk_accept*", BlockReason::Events},
    {"unix_accept", BlockReason::Events},
    {"vsock_accept", BlockReason::Events},

    {"unix_stream_*", BlockReason::LocalSocket},
    {"unix_dgram_*", BlockReason::LocalSocket},
    {"unix_wait_for_peer", BlockReason::LocalSocket},
    {"__unix_*", BlockReason::LocalSocket},
    {"vsock_*", BlockReason::LocalSocket},
    {"netlink_*", BlockReason::LocalSocket},
    {"tcp_*", BlockReason::Network},
    {"inet_*", BlockReason::Network},
    {"udp_*", BlockReason::Network},
    {"sk_wait_data", BlockReason::Network},
    {"sk_stream_wait_*", BlockReason::Network},
    {"__skb_wait_for_more_packets", BlockReason::Network},
    {"__skb_recv_udp", BlockReason::Network},
    {"packet_recvmsg", BlockReason::Network},
    {"sock_*", BlockReason::Socket},
    {"__sys_accept*", BlockReason::Events},
    {"__sys_recv*", BlockReason::Socket},
    {"__sys_send*", BlockReason::Socket},

    {"pipe_*", BlockReason::Pipe},
    {"anon_pipe_*", BlockReason::Pipe},
    {"fifo_*", BlockReason::Pipe},
    {"wait_for_partner", BlockReason::Pipe},
    {"wait_for_space", BlockReason::Pipe},
    {"ipipe_prep*", BlockReason::Pipe},
    {"opipe_prep*", BlockReason::Pipe},
    {"do_wait", BlockReason::ChildProcess},
    {"__do_wait", BlockReason::ChildProcess},
    {"kernel_wait4", BlockReason::ChildProcess},
    {"wait_for_vfork_done", BlockReason::ChildStart},
    {"kernel_clone", BlockReason::ChildStart},
    {"do_sigtimedwait", BlockReason::Signal},
    {"sigsuspend", BlockReason::Signal},
    {"__do_sys_rt_sigsuspend", BlockReason::Signal},
    {"__x64_sys_rt_sigsuspend", BlockReason::Signal},
    {"__do_sys_pause", BlockReason::Signal},
    {"__x64_sys_pause", BlockReason::Signal},
    {"do_msgrcv", BlockReason::MessageQueue},
    {"do_msgsnd", BlockReason::MessageQueue},
    {"wq_sleep", BlockReason::MessageQueue},
    {"n_tty_*", BlockReason::Terminal},
    {"tty_*", BlockReason::Terminal},

    {"io_schedule*", BlockReason::Disk},
    {"affine_move_task", BlockReason::CpuChange},
    {"stop_one_cpu", BlockReason::CpuChange},
    {"call_usermodehelper_exec", BlockReason::KernelHelper},
    {"__flush_work*", BlockReason::KernelWork},
    {"lru_add_drain_all", BlockReason::KernelWork},
    {"msleep*", BlockReason::KernelSleep},
    {"usleep_range*", BlockReason::KernelSleep},
    {"worker_thread", BlockReason::NoWork},
    {"rescuer_thread", BlockReason::NoWork},
    {"kthreadd", BlockReason::NoWork},
    {"smpboot_thread_fn", BlockReason::NoWork},
    {"kthread", BlockReason::KernelThread},
});

// Functions of kernel modules are written "function [module]".
std::string_view without_module(std::string_view function) {
    return function.substr(0, function.find(" ["));
}

std::size_t rank_of(std::string_view function) {
    const auto place = std::find_if(table.begin(), table.end(), [&](const Entry& entry) {
        return matches_pattern(function, entry.pattern);
    });
    return static_cast<std::size_t>(place - table.begin());
}

BlockReason reason_at(std::size_t rank) {
    return rank < table.size() ? table[rank].reason : BlockReason::Unknown;
}

// The kernel lock that a stack waits for, judged by the function that takes it.
BlockReason kernel_lock_of(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    bool in_lock = false;
    bool shared_by_cpus = false;
    for (auto place = frames.rbegin(); place != frames.rend(); ++place) {
        const Frame& frame = recording.frames[*place];
        if (!frame.kernel) break;
        const std::string_view function = without_module(recording.name(frame.label));
        if (matches_one_of(function, lock_functions)) {
            in_lock = true;
            shared_by_cpus = shared_by_cpus || matches_pattern(function, "*percpu_rwsem_wait") ||
                             matches_pattern(function, "__percpu_down_read");
            continue;
        }
        if (!in_lock) continue;
        if (shared_by_cpus && matches_one_of(function, writers_of_mappings))
            return BlockReason::FrozenMapping;
        if (shared_by_cpus)
            return matches_one_of(function, writers_of_files) ? BlockReason::FrozenFiles
                                                              : BlockReason::KernelLock;
        return matches_one_of(function, takers_of_memory_maps) ? BlockReason::MemoryMap
                                                               : BlockReason::KernelLock;
    }
    return BlockReason::KernelLock;
}

// The lock for which a thread waits if its stack ends in one that only waits for locks.
BlockReason lock_at_the_end(const Recording& recording, StackId stack) {
    const auto frames = recording.stacks[stack];
    if (frames.empty() || !recording.frames[frames.back()].kernel) return BlockReason::Unknown;
    const std::string_view last =
        without_module(recording.name(recording.frames[frames.back()].label));
    if (matches_one_of(last, wait_only_for_memory_maps)) return BlockReason::MemoryMap;
    return matches_one_of(last, wait_only_for_inodes) ? BlockReason::KernelLock
                                                      : BlockReason::Unknown;
}

}  // namespace

const BlockReasonFacts& facts_of(BlockReason reason) {
    return all_facts[static_cast<std::size_t>(reason)];
}

BlockReason find_block_reason(std::string_view name) {
    const auto found =
        std::find_if(all_facts.begin(), all_facts.end(),
                     [&](const BlockReasonFacts& facts) { return facts.name == name; });
    return found != all_facts.end() ? found->reason : BlockReason::Unknown;
}

BlockReason reason_of_function(std::string_view kernel_function) {
    return reason_at(rank_of(without_module(kernel_function)));
}

BlockReason block_reason_of(const Recording& recording, StackId stack) {
    if (stack >= recording.first_sleep) return BlockReason::Sleep;
    if (const BlockReason lock = lock_at_the_end(recording, stack); lock != BlockReason::Unknown)
        return lock;
    std::size_t best = table.size();
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (frame.kernel)
            best = std::min(best, rank_of(without_module(recording.name(frame.label))));
    }
    const BlockReason reason = reason_at(best);
    return reason == BlockReason::KernelLock ? kernel_lock_of(recording, stack) : reason;
}

bool is_for_own_memory_map(const Recording& recording, StackId stack) {
    if (block_reason_of(recording, stack) != BlockReason::MemoryMap) return false;
    const auto frames = recording.stacks[stack];
    return std::none_of(frames.begin(), frames.end(), [&](std::uint32_t place) {
        const Frame& frame = recording.frames[place];
        return frame.kernel && matches_one_of(without_module(recording.name(frame.label)),
                                              takers_of_other_memory_maps);
    });
}

Room room_of(const Recording& recording, StackId stack) {
    Room room = Room::None;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (!frame.kernel) continue;
        const std::string_view function = without_module(recording.name(frame.label));
        if (matches_pattern(function, "unix_stream_connect")) return Room::Connection;
        if (matches_one_of(function, openers_of_pipes)) return Room::Partner;
        if (matches_pattern(function, "sk_stream_wait_close")) return Room::Rest;
        if (matches_one_of(function, writers_to_full)) room = Room::Data;
    }
    return room;
}

std::string reason_of_stack(const Recording& recording, StackId stack) {
    const BlockReason reason = block_reason_of(recording, stack);
    if (reason != BlockReason::Unknown) return std::string(facts_of(reason).name);
    std::string_view innermost;
    std::string_view innermost_user;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (!frame.named) continue;
        const std::string_view name = recording.name(frame.label);
        if (!frame.kernel)
            innermost_user = name;
        else if (!is_kernel_plumbing(name))
            innermost = name;
    }
    if (!innermost.empty()) return "blocked in " + std::string(innermost);
    if (!innermost_user.empty()) return "blocked in " + std::string(innermost_user);
    return std::string(facts_of(reason).name);
}

}  // namespace lagtrap::analysis
