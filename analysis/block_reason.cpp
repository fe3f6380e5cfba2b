#include "analysis/block_reason.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::analysis {

namespace {

// `pattern` matches names that begin with it where it ends in '*', else names equal to it up to a compiler's
// suffix (".isra.0", ".constprop.0"). Entries above count before entries below, so that a page fault which
// waits for the disk is a page fault, and a lock of the kernel taken inside a system call is that lock.
struct Entry {
    std::string_view pattern;
    std::string_view reason;
};

constexpr auto table = std::to_array<Entry>({
    {"do_signal_stop", "stopped by a signal"},
    {"ptrace_stop", "stopped by a debugger"},
    {"do_freezer_trap", "frozen"},
    {"handle_userfault", "page fault (userfaultfd)"},
    {"mem_cgroup_handle_over_high", "memory limit of its control group"},
    {"__mem_cgroup_handle_over_high", "memory limit of its control group"},
    {"throttle_direct_reclaim", "freeing memory"},
    {"try_to_free_pages", "freeing memory"},
    {"try_to_free_mem_cgroup_pages", "freeing memory"},
    {"__alloc_pages_direct_compact", "freeing memory"},
    {"throttle_cfs_rq*", "CPU limit of its control group"},

    {"futex_lock_pi*", "lock (futex)"},
    {"__futex_wait", "lock (futex)"},
    {"futex_wait*", "lock (futex)"},
    {"futex_do_wait", "lock (futex)"},
    {"do_futex", "lock (futex)"},
    {"do_semtimedop", "lock (semaphore)"},
    {"__do_semtimedop", "lock (semaphore)"},
    {"fcntl_setlk*", "file lock"},
    {"locks_lock_inode_wait", "file lock"},
    {"flock_lock_inode_wait", "file lock"},

    {"rwsem_down_*", "lock in the kernel"},
    {"__mutex_lock*", "lock in the kernel"},
    {"mutex_lock*", "lock in the kernel"},
    {"rt_mutex_slowlock*", "lock in the kernel"},
    {"__rt_mutex_slowlock*", "lock in the kernel"},
    {"percpu_rwsem_wait", "lock in the kernel"},
    {"__percpu_down_read", "lock in the kernel"},
    {"percpu_down_write", "lock in the kernel"},
    {"__down*", "lock in the kernel"},

    {"filemap_fault", "page fault"},
    {"do_swap_page", "page fault (swap)"},
    {"handle_mm_fault", "page fault"},
    {"do_user_addr_fault", "page fault"},

    {"hrtimer_nanosleep", "sleep"},
    {"do_nanosleep", "sleep"},
    {"common_nsleep*", "sleep"},

    {"fuse_*", "file system server (FUSE)"},
    {"request_wait_answer", "file system server (FUSE)"},
    {"nfs_*", "network file system"},
    {"nfs4_*", "network file system"},
    {"rpc_wait_bit_killable", "network file system"},
    {"cifs_*", "network file system"},
    {"smb2_*", "network file system"},
    {"balance_dirty_pages*", "disk (too much unwritten)"},
    {"jbd2_*", "disk"},
    {"ext4_*", "disk"},
    {"xfs_*", "disk"},
    {"btrfs_*", "disk"},
    {"f2fs_*", "disk"},
    {"blkdev_*", "disk"},
    {"blk_*", "disk"},
    {"submit_bio_wait", "disk"},
    {"bio_await*", "disk"},
    {"wbt_wait", "disk"},
    {"rq_qos_wait", "disk"},
    {"folio_wait_*", "disk"},
    {"__folio_lock*", "disk"},
    {"wait_on_page*", "disk"},
    {"wait_on_buffer", "disk"},
    {"__wait_on_buffer", "disk"},
    {"__filemap_fdatawait_range", "disk"},
    {"file_write_and_wait_range", "disk"},
    {"do_fsync", "disk"},
    {"vfs_fsync_range", "disk"},
    {"sync_inodes_sb", "disk"},
    {"read_events", "disk (asynchronous)"},
    {"dm_*", "disk"},
    {"md_*", "disk"},
    {"nvme_*", "disk"},

    {"ep_poll", "events"},
    {"do_epoll_wait", "events"},
    {"do_epoll_pwait*", "events"},
    {"do_sys_poll", "events"},
    {"do_poll", "events"},
    {"do_select", "events"},
    {"core_sys_select", "events"},
    {"poll_schedule_timeout*", "events"},
    {"io_cqring_wait*", "events (io_uring)"},
    {"eventfd_read", "events"},
    {"timerfd_read*", "sleep (timer)"},
    {"inotify_read", "events"},
    {"fanotify_read", "events"},
    {"signalfd_*", "events"},
    {"perf_read", "events"},

    {"unix_stream_*", "local socket"},
    {"unix_dgram_*", "local socket"},
    {"unix_wait_for_peer", "local socket"},
    {"__unix_*", "local socket"},
    {"vsock_*", "local socket"},
    {"netlink_*", "local socket"},
    {"tcp_*", "network"},
    {"inet_*", "network"},
    {"udp_*", "network"},
    {"sk_wait_data", "network"},
    {"sk_stream_wait_*", "network"},
    {"__skb_wait_for_more_packets", "network"},
    {"__skb_recv_udp", "network"},
    {"packet_recvmsg", "network"},
    {"sock_*", "socket"},
    {"__sys_accept*", "socket"},
    {"__sys_recv*", "socket"},
    {"__sys_send*", "socket"},

    {"pipe_*", "pipe"},
    {"anon_pipe_*", "pipe"},
    {"fifo_*", "pipe"},
    {"wait_for_partner", "pipe"},
    {"do_wait", "child process"},
    {"__do_wait", "child process"},
    {"kernel_wait4", "child process"},
    {"wait_for_vfork_done", "child process"},
    {"kernel_clone", "child process"},
    {"do_sigtimedwait", "signal"},
    {"sigsuspend", "signal"},
    {"__do_sys_pause", "signal"},
    {"__x64_sys_pause", "signal"},
    {"do_msgrcv", "message queue"},
    {"do_msgsnd", "message queue"},
    {"wq_sleep", "message queue"},
    {"n_tty_*", "terminal"},
    {"tty_*", "terminal"},

    {"io_schedule*", "disk"},
    {"synchronize_rcu*", "kernel (RCU grace period)"},
    {"__wait_rcu_gp", "kernel (RCU grace period)"},
    {"synchronize_srcu*", "kernel (RCU grace period)"},
    {"msleep*", "sleep in the kernel"},
    {"usleep_range*", "sleep in the kernel"},
    {"worker_thread", "no work (kernel worker)"},
    {"rescuer_thread", "no work (kernel worker)"},
    {"kthreadd", "no work (kernel worker)"},
    {"smpboot_thread_fn", "no work (kernel worker)"},
    {"kthread", "kernel thread"},
});

constexpr auto plumbing = std::to_array<std::string_view>({
    "schedule*",
    "__schedule*",
    "preempt_schedule*",
    "io_schedule*",
    "wait_woken",
    "wait_for_completion*",
    "__wait_for_common",
    "do_wait_for_common",
    "prepare_to_wait*",
    "__cond_resched",
    "bpf_*",
    "__bpf_*",
    "__traceiter_*",
    "trace_*",
    "perf_trace_*",
    "entry_SYSCALL_64*",
    "entry_SYSCALL_compat*",
    "do_syscall_64",
    "x64_sys_call",
    "el0_*",
    "el0t_*",
    "do_el0_svc",
    "invoke_syscall*",
    "asm_*",
    "irqentry_*",
    "exit_to_user_mode*",
    "syscall_exit_to_user_mode*",
    "ret_from_fork*",
    "common_startup_64",
    "secondary_startup_64*",
});

constexpr auto starts = std::to_array<std::string_view>({
    "_start",
    "__libc_start_main*",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "__GI___clone3",
    "execute_native_thread_routine",
});

bool matches(std::string_view name, std::string_view pattern) {
    if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
    return name.starts_with(pattern) && (name.size() == pattern.size() || name[pattern.size()] == '.');
}

// A module's function is written "function [module]".
std::string_view without_module(std::string_view function) { return function.substr(0, function.find(" [")); }

std::size_t rank_of(std::string_view function) {
    const auto place =
        std::find_if(table.begin(), table.end(), [&](const Entry& entry) { return matches(function, entry.pattern); });
    return static_cast<std::size_t>(place - table.begin());
}

}  // namespace

std::string_view reason_of_function(std::string_view kernel_function) {
    const std::size_t rank = rank_of(without_module(kernel_function));
    return rank < table.size() ? table[rank].reason : std::string_view{};
}

bool ends_by_interrupt(std::string_view reason) {
    return reason.starts_with("sleep") || reason.starts_with("disk") || reason.starts_with("page fault");
}

bool is_kernel_plumbing(std::string_view kernel_function) {
    return std::any_of(plumbing.begin(), plumbing.end(),
                       [&](std::string_view pattern) { return matches(kernel_function, pattern); });
}

bool is_thread_start(std::string_view function) {
    const std::string_view plain = function.substr(0, function.find('@'));
    return std::any_of(starts.begin(), starts.end(), [&](std::string_view pattern) { return matches(plain, pattern); });
}

std::string reason_of_stack(const Recording& recording, StackId stack) {
    std::size_t best = table.size();
    std::string_view innermost;
    std::string_view innermost_user;
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        const std::string_view name = recording.name(frame.label);
        if (!frame.kernel) {
            if (frame.named) innermost_user = name;
            continue;
        }
        best = std::min(best, rank_of(without_module(name)));
        if (frame.named && !is_kernel_plumbing(name)) innermost = name;
    }
    if (best < table.size()) return std::string(table[best].reason);
    if (!innermost.empty()) return "blocked in " + std::string(innermost);
    if (!innermost_user.empty()) return "blocked in " + std::string(innermost_user);
    return "unknown reason";
}

}  // namespace lagtrap::analysis
