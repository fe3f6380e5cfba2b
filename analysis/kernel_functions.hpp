// Functions of the kernel that tell what a thread waits for, as patterns (function_pattern.hpp).
#pragma once

#include <array>
#include <string_view>

namespace lagtrap::analysis {

// Functions that take a kernel lock or only pass the call on. Their caller tells which lock it is.
inline constexpr auto lock_functions = std::to_array<std::string_view>({
    "rwsem_*",
    "down_read*",
    "down_write*",
    "__down_read*",
    "__down_write*",
    "percpu_rwsem_*",
    "__percpu_down_read",
    "mmap_read_*",
    "mmap_write_*",
    "lock_mm_and_find_vma",
    "mmap_lock_*",
    "percpu_down_read*",
    "sb_start_*",
    "__sb_start_write*",
});

inline constexpr auto takers_of_memory_maps = std::to_array<std::string_view>({
    "vm_mmap_pgoff",
    "__vm_munmap",
    "__x64_sys_munmap",
    "__do_sys_munmap",
    "do_madvise*",
    "madvise_lock",
    "do_mprotect_pkey*",
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
    "process_vm_rw*",
    "fixup_user_fault",
    "__get_user_pages_locked",
    "__gup_longterm_locked",
    "get_user_pages_unlocked",
    "faultin_page_range",
    "dump_vma_snapshot",
    "collapse_huge_page",
    "khugepaged*",
    "do_mlock",
    "__mm_populate",
    "__x64_sys_mlockall",
    "do_mincore",
    "__x64_sys_mincore",
    "register_for_each_vma",
    "setup_arg_pages",
    "exec_mmap",
});

// Of these, the ones that wait for nothing else themselves. The stack of a thread that blocked
// before the recording lacks the functions in the kernel's section for scheduling, which take the
// lock (stack_trace_save_tsk in kernel/stacktrace.c, Linux 6.1), and ends with their caller.
inline constexpr auto wait_only_for_memory_maps = std::to_array<std::string_view>({
    "vm_mmap_pgoff",
    "__vm_munmap",
    "__x64_sys_munmap",
    "do_madvise*",
    "madvise_lock",
    "do_mprotect_pkey*",
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
    "__mm_populate",
});

// Of these, the ones that may take the lock of another process.
inline constexpr auto takers_of_other_memory_maps = std::to_array<std::string_view>({
    "m_start",
    "lock_vma_range",
    "pagemap_read",
    "show_smaps_rollup",
    "clear_refs_write",
    "__access_remote_vm",
    "access_remote_vm",
    "get_cmdline",
    "process_vm_rw*",
    "collapse_huge_page",
    "khugepaged*",
    "register_for_each_vma",
});

// The same for the locks of folders and files.
inline constexpr auto wait_only_for_inodes = std::to_array<std::string_view>({
    "fdget_pos",
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
    "xfs_ilock*",
    "xfs_file_buffered_write",
    "btrfs_inode_lock",
    "do_truncate",
    "chmod_common",
});

// Callers of sb_start_write and sb_start_pagefault (include/linux/fs.h), which are inlined.
inline constexpr auto writers_of_mappings =
    std::to_array<std::string_view>({"*_page_mkwrite", "do_page_mkwrite"});
inline constexpr auto writers_of_files = std::to_array<std::string_view>({
    "mnt_want_write*",
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
    "io_write*",
    "do_iter_readv_writev",
    "aio_write",
    "do_splice*",
    "do_sendfile",
    "vfs_copy_file_range",
    "do_clone_file_range",
    "file_update_time*",
    "touch_atime",
    "ext4_journal_start*",
    "__ext4_journal_start_sb",
    "ext4_journal_check_start",
    "xfs_trans_alloc*",
    "btrfs_start_transaction*",
});

inline constexpr auto writers_to_full = std::to_array<std::string_view>({
    "pipe_write",
    "anon_pipe_write",
    "fifo_pipe_write",
    "wait_for_space",
    "opipe_prep*",
    "sk_stream_wait_memory",
    "sock_alloc_send_pskb",
    "unix_wait_for_peer",
    "eventfd_write",
    "do_mq_timedsend",
    "__do_sys_mq_timedsend",
    "__x64_sys_mq_timedsend",
    "do_msgsnd",
    "n_tty_write",
});

// They wait until the other end of a named pipe is open.
inline constexpr auto openers_of_pipes =
    std::to_array<std::string_view>({"fifo_open", "wait_for_partner"});

}  // namespace lagtrap::analysis
