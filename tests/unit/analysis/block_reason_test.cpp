// Each row of the tables that tell why a thread blocked, and which row counts.
#include "analysis/block_reason.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::block_reason_test {
namespace {

using Names = std::vector<std::string>;

// A stack of kernel functions, outermost first.
class KernelStack {
  public:
    explicit KernelStack(const Names& functions) {
        Names frames{"main"};
        for (const std::string& function : functions) frames.push_back("k:" + function);
        stack_ = made_.stack(frames);
    }
    [[nodiscard]] BlockReason reason() const { return block_reason_of(made_.recording, stack_); }
    [[nodiscard]] std::string text() const { return reason_of_stack(made_.recording, stack_); }
    [[nodiscard]] Room room() const { return room_of(made_.recording, stack_); }
    [[nodiscard]] bool is_for_own_map() const {
        return is_for_own_memory_map(made_.recording, stack_);
    }

  private:
    test::MadeRecording made_;
    StackId stack_ = 0;
};

BlockReason reason_of(const Names& functions) { return KernelStack(functions).reason(); }

TEST(BlockReasons, HaveANameAKindAndAnEnd) {
    struct Row {
        BlockReason reason;
        std::string_view name;
        WaitKind kind;
        bool ends_by_interrupt;
    };
    const std::vector<Row> rows{
        {BlockReason::StoppedBySignal, "stopped by a signal", WaitKind::Stopped, false},
        {BlockReason::StoppedByDebugger, "stopped by a debugger", WaitKind::Stopped, false},
        {BlockReason::Frozen, "frozen", WaitKind::Other, false},
        {BlockReason::UserPageFault, "page fault (userfaultfd)", WaitKind::Other, false},
        {BlockReason::MemoryLimit, "memory limit of its control group", WaitKind::GroupMemory,
         true},
        {BlockReason::FreeingMemory, "freeing memory", WaitKind::Memory, true},
        {BlockReason::CpuLimit, "CPU limit of its control group", WaitKind::CpuLimit, false},
        {BlockReason::Futex, "lock (futex)", WaitKind::Futex, false},
        {BlockReason::Semaphore, "lock (semaphore)", WaitKind::Semaphore, false},
        {BlockReason::FileLock, "file lock", WaitKind::FileLock, false},
        {BlockReason::Lease, "lease on a file", WaitKind::FileLock, false},
        {BlockReason::KernelLock, "lock in the kernel", WaitKind::KernelLock, false},
        {BlockReason::MemoryMap, "memory map of a process (mmap_lock)", WaitKind::MemoryMap, false},
        {BlockReason::FrozenFiles, "frozen file system", WaitKind::FrozenFiles, false},
        {BlockReason::FrozenMapping, "page fault (frozen file system)", WaitKind::FrozenMapping,
         false},
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
    };
    EXPECT_EQ(rows.size(), static_cast<std::size_t>(BlockReason::Unknown) + 1);
    for (const Row& row : rows) {
        const BlockReasonFacts& facts = facts_of(row.reason);
        EXPECT_EQ(facts.reason, row.reason);
        EXPECT_EQ(facts.name, row.name);
        EXPECT_EQ(facts.kind, row.kind) << row.name;
        EXPECT_EQ(facts.ends_by_interrupt, row.ends_by_interrupt) << row.name;
        EXPECT_EQ(find_block_reason(row.name), row.reason);
    }
}

// In the order of precedence: of a stack, the first group counts.
const std::vector<std::pair<BlockReason, Names>> groups{
    {BlockReason::StoppedBySignal, {"do_signal_stop"}},
    {BlockReason::StoppedByDebugger, {"ptrace_stop"}},
    {BlockReason::Frozen, {"do_freezer_trap", "__refrigerator"}},
    {BlockReason::UserPageFault, {"handle_userfault"}},
    {BlockReason::MemoryLimit,
     {"mem_cgroup_handle_over_high", "__mem_cgroup_handle_over_high",
      "try_to_free_mem_cgroup_pages"}},
    {BlockReason::FreeingMemory,
     {"throttle_direct_reclaim", "try_to_free_pages", "__alloc_pages_direct_compact"}},
    {BlockReason::CpuLimit, {"throttle_cfs_rqmore"}},
    {BlockReason::RcuGracePeriod,
     {"synchronize_rcumore", "synchronize_net", "__wait_rcu_gp", "synchronize_srcumore",
      "__synchronize_srcumore", "rcu_barriermore"}},
    {BlockReason::Futex,
     {"futex_lock_pimore", "__futex_wait", "futex_waitmore", "futex_do_wait", "do_futex"}},
    {BlockReason::Semaphore, {"do_semtimedop", "__do_semtimedop"}},
    {BlockReason::FileLock, {"fcntl_setlkmore", "locks_lock_inode_wait", "flock_lock_inode_wait"}},
    {BlockReason::Lease, {"__break_lease"}},
    {BlockReason::FileCheck, {"fanotify_handle_event"}},
    {BlockReason::CallCheck, {"seccomp_do_user_notification"}},
    {BlockReason::AutomaticMount, {"autofs_wait"}},
    {BlockReason::KernelLock,
     {"rwsem_down_more", "__mutex_lockmore", "mutex_lockmore", "rt_mutex_slowlockmore",
      "__rt_mutex_slowlockmore", "percpu_rwsem_wait", "__percpu_down_read", "percpu_down_write",
      "__downmore", "d_alloc_parallel"}},
    {BlockReason::PageFault, {"filemap_fault"}},
    {BlockReason::SwapFault, {"do_swap_page"}},
    {BlockReason::PageFault, {"handle_mm_fault", "do_user_addr_fault"}},
    {BlockReason::Sleep, {"hrtimer_nanosleep", "do_nanosleep", "common_nsleepmore"}},
    {BlockReason::Events, {"fuse_dev_do_read", "fuse_dev_read", "fuse_dev_splice_read"}},
    {BlockReason::FileSystemServer, {"fuse_more", "request_wait_answer"}},
    {BlockReason::NetworkFileSystem,
     {"nfs_more", "nfs4_more", "rpc_wait_bit_killable", "cifs_more", "smb2_more"}},
    {BlockReason::DiskTooMuchUnwritten, {"balance_dirty_pagesmore"}},
    {BlockReason::Disk,
     {"jbd2_more",
      "ext4_more",
      "xfs_more",
      "btrfs_more",
      "f2fs_more",
      "blkdev_more",
      "blk_more",
      "submit_bio_wait",
      "bio_awaitmore",
      "wbt_wait",
      "rq_qos_wait",
      "folio_wait_more",
      "__folio_lockmore",
      "wait_on_pagemore",
      "wait_on_buffer",
      "__wait_on_buffer",
      "__filemap_fdatawait_range",
      "file_write_and_wait_range",
      "do_fsync",
      "vfs_fsync_range",
      "sync_inodes_sb",
      "inode_wait_for_writeback",
      "__inode_wait_for_writeback",
      "wb_wait_for_completion",
      "blkcg_maybe_throttle_current"}},
    {BlockReason::DiskAsynchronous, {"read_events"}},
    {BlockReason::Disk, {"dm_more", "md_more", "nvme_more"}},
    {BlockReason::Events,
     {"ep_poll", "do_epoll_wait", "do_epoll_pwaitmore", "do_sys_poll", "do_poll", "do_select",
      "core_sys_select", "poll_schedule_timeoutmore"}},
    {BlockReason::IoUring, {"io_cqring_waitmore"}},
    {BlockReason::Events, {"eventfd_read", "eventfd_write"}},
    {BlockReason::Timer, {"timerfd_readmore"}},
    {BlockReason::Events,
     {"inotify_read", "fanotify_read", "signalfd_more", "perf_read", "seccomp_notify_more",
      "userfaultfd_more", "evdev_read", "tun_more", "do_accept", "inet_csk_acceptmore",
      "unix_accept", "vsock_accept"}},
    {BlockReason::LocalSocket,
     {"unix_stream_more", "unix_dgram_more", "unix_wait_for_peer", "__unix_more", "vsock_more",
      "netlink_more"}},
    {BlockReason::Network,
     {"tcp_more", "inet_more", "udp_more", "sk_wait_data", "sk_stream_wait_more",
      "__skb_wait_for_more_packets", "__skb_recv_udp", "packet_recvmsg"}},
    {BlockReason::Socket, {"sock_more"}},
    {BlockReason::Events, {"__sys_acceptmore"}},
    {BlockReason::Socket, {"__sys_recvmore", "__sys_sendmore"}},
    {BlockReason::Pipe,
     {"pipe_more", "anon_pipe_more", "fifo_more", "wait_for_partner", "wait_for_space",
      "ipipe_prepmore", "opipe_prepmore"}},
    {BlockReason::ChildProcess, {"do_wait", "__do_wait", "kernel_wait4"}},
    {BlockReason::ChildStart, {"wait_for_vfork_done", "kernel_clone"}},
    {BlockReason::Signal,
     {"do_sigtimedwait", "sigsuspend", "__do_sys_rt_sigsuspend", "__x64_sys_rt_sigsuspend",
      "__do_sys_pause", "__x64_sys_pause"}},
    {BlockReason::MessageQueue, {"do_msgrcv", "do_msgsnd", "wq_sleep"}},
    {BlockReason::Terminal, {"n_tty_more", "tty_more"}},
    {BlockReason::Disk, {"io_schedulemore"}},
    {BlockReason::CpuChange, {"affine_move_task", "stop_one_cpu"}},
    {BlockReason::KernelHelper, {"call_usermodehelper_exec"}},
    {BlockReason::KernelWork, {"__flush_workmore", "lru_add_drain_all"}},
    {BlockReason::KernelSleep, {"msleepmore", "usleep_rangemore"}},
    {BlockReason::NoWork, {"worker_thread", "rescuer_thread", "kthreadd", "smpboot_thread_fn"}},
    {BlockReason::KernelThread, {"kthread"}},
};

TEST(BlockReasons, AreKnownByFunctionsOfTheKernel) {
    for (const auto& [reason, functions] : groups)
        for (const std::string& function : functions) {
            EXPECT_EQ(reason_of_function(function), reason) << function;
            EXPECT_EQ(reason_of_function(function + ".isra.0"), reason) << function;
            EXPECT_EQ(reason_of_function(function + " [module]"), reason) << function;
            EXPECT_EQ(reason_of_function("x" + function), BlockReason::Unknown) << function;
        }
    for (const char* other : {"do_futexes", "do_waiting", "ep_polled", "kthreads", "dup_mm", ""})
        EXPECT_EQ(reason_of_function(other), BlockReason::Unknown) << other;
}

TEST(BlockReasons, OfAStackIsTheFirstThatExplainsTheOthers) {
    for (std::size_t first = 0; first < groups.size(); ++first)
        for (std::size_t second = first + 1; second < groups.size(); ++second) {
            const std::string& one = groups[first].second.front();
            const std::string& other = groups[second].second.front();
            EXPECT_EQ(reason_of({one, other, "schedule"}), groups[first].first)
                << one << " " << other;
            EXPECT_EQ(reason_of({other, one, "schedule"}), groups[first].first)
                << one << " " << other;
        }
}

TEST(BlockReasons, OnlyFunctionsOfTheKernelCount) {
    test::MadeRecording made;
    const StackId stack = made.stack({"do_nanosleep", "k:do_futex"});
    EXPECT_EQ(block_reason_of(made.recording, stack), BlockReason::Futex);
    made.recording.first_sleep = stack;
    EXPECT_EQ(block_reason_of(made.recording, stack), BlockReason::Sleep);
    EXPECT_EQ(reason_of_stack(made.recording, 0), "unknown reason");
}

const Names in_lock{"down_read", "rwsem_down_read_slowpath", "schedule"};

Names within(const std::string& function, Names inner) {
    inner.insert(inner.begin(), function);
    return inner;
}

const Names takers_of_memory_maps{"vm_mmap_pgoff",
                                  "__vm_munmap",
                                  "__x64_sys_munmap",
                                  "__do_sys_munmap",
                                  "do_madvisemore",
                                  "madvise_lock",
                                  "do_mprotect_pkeymore",
                                  "__x64_sys_brk",
                                  "__do_sys_brk",
                                  "__se_sys_brk",
                                  "__x64_sys_mremap",
                                  "__do_sys_mremap",
                                  "__se_sys_mremap",
                                  "do_mremap",
                                  "exit_mmap",
                                  "exit_mm",
                                  "do_exit",
                                  "dup_mmap",
                                  "dup_mm",
                                  "do_user_addr_fault",
                                  "exc_page_fault",
                                  "m_start",
                                  "lock_vma_range",
                                  "pagemap_read",
                                  "show_smaps_rollup",
                                  "clear_refs_write",
                                  "__access_remote_vm",
                                  "access_remote_vm",
                                  "get_cmdline",
                                  "process_vm_rwmore",
                                  "fixup_user_fault",
                                  "__get_user_pages_locked",
                                  "__gup_longterm_locked",
                                  "get_user_pages_unlocked",
                                  "faultin_page_range",
                                  "dump_vma_snapshot",
                                  "collapse_huge_page",
                                  "khugepagedmore",
                                  "do_mlock",
                                  "__mm_populate",
                                  "__x64_sys_mlockall",
                                  "do_mincore",
                                  "__x64_sys_mincore",
                                  "register_for_each_vma",
                                  "setup_arg_pages",
                                  "exec_mmap"};

TEST(KernelLocks, OfAMemoryMapAreKnownByWhoTakesThem) {
    for (const std::string& function : takers_of_memory_maps)
        EXPECT_EQ(reason_of(within(function, in_lock)), BlockReason::MemoryMap) << function;
    EXPECT_EQ(reason_of(within("walk_component", in_lock)), BlockReason::KernelLock);
    EXPECT_EQ(reason_of(within("do_exit", within("walk_component", in_lock))),
              BlockReason::KernelLock)
        << "only the caller counts";
    EXPECT_EQ(reason_of(in_lock), BlockReason::KernelLock);
}

// Functions that take a lock or only pass the call on.
const Names lock_functions{"rwsem_more",           "down_readmore",       "down_writemore",
                           "__down_readmore",      "__down_writemore",    "percpu_rwsem_more",
                           "__percpu_down_read",   "mmap_read_more",      "mmap_write_more",
                           "lock_mm_and_find_vma", "mmap_lock_more",      "percpu_down_readmore",
                           "sb_start_more",        "__sb_start_writemore"};

TEST(KernelLocks, ArePassedOnByTheirFunctions) {
    for (const std::string& function : lock_functions) {
        const bool of_cpus =
            function.starts_with("percpu_rwsem_wait") || function == "__percpu_down_read";
        EXPECT_EQ(reason_of(within("dup_mmap", within(function, in_lock))),
                  of_cpus ? BlockReason::KernelLock : BlockReason::MemoryMap)
            << function;
    }
}

const Names writers_of_files{"mnt_want_writemore",
                             "vfs_write",
                             "ksys_write",
                             "vfs_iter_write",
                             "do_iter_write",
                             "vfs_writev",
                             "do_truncate",
                             "do_sys_ftruncate",
                             "do_ftruncate",
                             "vfs_fallocate",
                             "ksys_fallocate",
                             "io_writemore",
                             "do_iter_readv_writev",
                             "aio_write",
                             "do_splicemore",
                             "do_sendfile",
                             "vfs_copy_file_range",
                             "do_clone_file_range",
                             "file_update_timemore",
                             "touch_atime",
                             "ext4_journal_startmore",
                             "__ext4_journal_start_sb",
                             "ext4_journal_check_start",
                             "xfs_trans_allocmore",
                             "btrfs_start_transactionmore"};

TEST(KernelLocks, OfAllCpusHoldUpWritersToAFrozenFileSystem) {
    for (const std::string lock : {"percpu_rwsem_wait", "__percpu_down_read"}) {
        const Names frozen{lock, "schedule"};
        for (const std::string& function : writers_of_files)
            EXPECT_EQ(reason_of(within(function, within("sb_start_write", frozen))),
                      BlockReason::FrozenFiles)
                << function;
        for (const std::string function : {"ext4_page_mkwrite", "do_page_mkwrite"})
            EXPECT_EQ(reason_of(within(function, frozen)), BlockReason::FrozenMapping) << function;
        EXPECT_EQ(reason_of(within("cgroup_can_fork", frozen)), BlockReason::KernelLock);
    }
}

// Such a stack was read when the recording began.
const Names last_of_memory_maps{"vm_mmap_pgoff",
                                "__vm_munmap",
                                "__x64_sys_munmap",
                                "do_madvisemore",
                                "madvise_lock",
                                "do_mprotect_pkeymore",
                                "__x64_sys_brk",
                                "__do_sys_brk",
                                "__x64_sys_mremap",
                                "__do_sys_mremap",
                                "do_mremap",
                                "dup_mmap",
                                "dup_mm",
                                "lock_mm_and_find_vma",
                                "do_user_addr_fault",
                                "exc_page_fault",
                                "m_start",
                                "lock_vma_range",
                                "pagemap_read",
                                "show_smaps_rollup",
                                "__access_remote_vm",
                                "get_cmdline",
                                "do_mlock",
                                "__mm_populate"};
const Names last_of_inodes{"fdget_pos",
                           "__fdget_pos",
                           "open_last_lookups",
                           "path_openat",
                           "lookup_slow",
                           "do_unlinkat",
                           "do_rmdir",
                           "do_mkdirat",
                           "filename_create",
                           "do_renameat2",
                           "lock_rename",
                           "iterate_dir",
                           "vfs_unlink",
                           "vfs_rmdir",
                           "ext4_buffered_write_iter",
                           "ext4_dio_write_iter",
                           "ext4_file_write_iter",
                           "ext4_fallocate",
                           "xfs_ilockmore",
                           "xfs_file_buffered_write",
                           "btrfs_inode_lock",
                           "do_truncate",
                           "chmod_common"};

TEST(KernelLocks, AreKnownByTheLastFunctionOfAStack) {
    for (const std::string& function : last_of_memory_maps) {
        EXPECT_EQ(reason_of({"do_syscall_64", function}), BlockReason::MemoryMap) << function;
        EXPECT_NE(reason_of({function, "io_schedule"}), BlockReason::MemoryMap) << function;
    }
    for (const std::string& function : last_of_inodes) {
        EXPECT_EQ(reason_of({"vfs_write", function}), BlockReason::KernelLock) << function;
        EXPECT_NE(reason_of({function, "io_schedule"}), BlockReason::KernelLock) << function;
    }
    EXPECT_EQ(reason_of({"dup_mm [module]"}), BlockReason::MemoryMap);
}

const Names takers_of_other_memory_maps{
    "m_start",           "lock_vma_range",     "pagemap_read",     "show_smaps_rollup",
    "clear_refs_write",  "__access_remote_vm", "access_remote_vm", "get_cmdline",
    "process_vm_rwmore", "collapse_huge_page", "khugepagedmore",   "register_for_each_vma"};

TEST(KernelLocks, MayBeOfTheMemoryMapOfAnother) {
    EXPECT_TRUE(KernelStack(within("dup_mmap", in_lock)).is_for_own_map());
    EXPECT_FALSE(KernelStack(in_lock).is_for_own_map());
    for (const std::string& function : takers_of_other_memory_maps) {
        EXPECT_FALSE(KernelStack(within(function, in_lock)).is_for_own_map()) << function;
        EXPECT_FALSE(KernelStack(within(function, within("do_exit", in_lock))).is_for_own_map())
            << function;
    }
}

const Names writers_to_full{"pipe_write",
                            "anon_pipe_write",
                            "fifo_pipe_write",
                            "wait_for_space",
                            "opipe_prepmore",
                            "sk_stream_wait_memory",
                            "sock_alloc_send_pskb",
                            "unix_wait_for_peer",
                            "eventfd_write",
                            "do_mq_timedsend",
                            "__do_sys_mq_timedsend",
                            "__x64_sys_mq_timedsend",
                            "do_msgsnd",
                            "n_tty_write"};

TEST(Rooms, AreWhatTheOtherEndShouldMake) {
    for (const std::string& function : writers_to_full)
        EXPECT_EQ(KernelStack({function, "schedule"}).room(), Room::Data) << function;
    for (const std::string function : {"fifo_open", "wait_for_partner"})
        EXPECT_EQ(KernelStack({function}).room(), Room::Partner) << function;
    EXPECT_EQ(KernelStack({"unix_stream_connect", "unix_wait_for_peer"}).room(), Room::Connection);
    EXPECT_EQ(KernelStack({"tcp_close", "sk_stream_wait_close"}).room(), Room::Rest);
    EXPECT_EQ(KernelStack({"fifo_open", "wait_for_space"}).room(), Room::Partner);
    EXPECT_EQ(KernelStack({"pipe_read"}).room(), Room::None);
    EXPECT_EQ(KernelStack({}).room(), Room::None);
}

TEST(BlockReasons, AreUnknownWithoutAFunctionThatExplains) {
    EXPECT_EQ(KernelStack({"odd_wait", "schedule_timeout", "bpf_program"}).text(),
              "blocked in odd_wait");
    EXPECT_EQ(KernelStack({"odd_wait", "inner_wait", "schedule"}).text(), "blocked in inner_wait");
    EXPECT_EQ(KernelStack({"schedule"}).text(), "blocked in main");
}

}  // namespace
}  // namespace lagtrap::analysis::block_reason_test
