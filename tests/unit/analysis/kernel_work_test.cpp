#include "analysis/kernel_work.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::kernel_work_test {
namespace {

KernelWork work_of(const std::vector<std::string>& frames) {
    test::MadeRecording made;
    const StackId stack = made.stack(frames);
    return kernel_work_of(made.recording, stack);
}

TEST(KernelWork, IsKnownByAFunctionOfTheKernel) {
    const std::vector<std::pair<std::string, KernelWork>> functions{
        {"vfs_coredump", KernelWork::CoreDump},
        {"do_coredump", KernelWork::CoreDump},
        {"elf_core_dump", KernelWork::CoreDump},
        {"try_to_free_mem_cgroup_pages", KernelWork::GroupReclaim},
        {"mem_cgroup_handle_over_high", KernelWork::GroupReclaim},
        {"__mem_cgroup_handle_over_high", KernelWork::GroupReclaim},
        {"try_to_free_pages", KernelWork::MachineReclaim},
        {"throttle_direct_reclaim", KernelWork::MachineReclaim},
        {"__alloc_pages_direct_compact", KernelWork::Compaction},
        {"try_to_compact_pages", KernelWork::Compaction},
        {"show_smaps_rollup", KernelWork::MemoryStatistics},
        {"show_smap", KernelWork::MemoryStatistics},
        {"show_numa_map", KernelWork::MemoryStatistics},
        {"pagemap_read", KernelWork::MemoryStatistics},
        {"clear_refs_write", KernelWork::MemoryStatistics},
        {"dup_mm", KernelWork::Fork},
        {"dup_mmap", KernelWork::Fork},
        {"copy_page_range", KernelWork::Fork},
        {"exit_mmap", KernelWork::ProcessEnd},
        {"exit_mm", KernelWork::ProcessEnd},
        {"wp_page_copy", KernelWork::CopyOnWrite},
        {"do_wp_page", KernelWork::CopyOnWrite},
        {"do_huge_pmd_wp_page", KernelWork::CopyOnWrite},
        {"do_huge_pmd_anonymous_page", KernelWork::LargePages},
        {"clear_huge_page", KernelWork::LargePages},
        {"populate_vma_page_range", KernelWork::Populating},
        {"__mm_populate", KernelWork::Populating},
        {"mprotect_fixup", KernelWork::Protecting},
        {"change_protection", KernelWork::Protecting},
        {"do_vmi_munmap", KernelWork::Unmapping},
        {"do_vmi_align_munmap", KernelWork::Unmapping},
        {"__do_munmap", KernelWork::Unmapping},
        {"do_mas_align_munmap", KernelWork::Unmapping},
        {"unmap_region", KernelWork::Unmapping},
        {"zap_page_range", KernelWork::Unmapping},
        {"zap_page_range_single", KernelWork::Unmapping},
        {"madvise_dontneed_free", KernelWork::Unmapping},
        {"truncate_inode_pages_range", KernelWork::FreeingFile},
        {"ext4_evict_inode", KernelWork::FreeingFile},
        {"evict", KernelWork::FreeingFile},
        {"iterate_dir", KernelWork::ReadingFolder},
        {"task_numa_work", KernelWork::NumaBalancing},
        {"do_numa_page", KernelWork::NumaBalancing},
        {"do_huge_pmd_numa_page", KernelWork::NumaBalancing},
        {"native_queued_spin_lock_slowpath", KernelWork::SpinningForLock},
        {"__pv_queued_spin_lock_slowpath", KernelWork::SpinningForLock},
        {"queued_read_lock_slowpath", KernelWork::SpinningForLock},
        {"queued_write_lock_slowpath", KernelWork::SpinningForLock},
        {"osq_lock", KernelWork::SpinningForLock},
        {"rwsem_spin_on_owner", KernelWork::SpinningForLock},
        {"mutex_spin_on_owner", KernelWork::SpinningForLock},
        {"smp_call_function_many_cond", KernelWork::OtherCpus},
        {"smp_call_function_single", KernelWork::OtherCpus},
        {"ovl_copy_up_flags", KernelWork::OverlayCopy},
        {"ovl_copy_up_one", KernelWork::OverlayCopy},
        {"cgroup_rstat_flush", KernelWork::GroupStatistics},
        {"css_rstat_flush", KernelWork::GroupStatistics},
        {"memory_stat_show", KernelWork::GroupStatistics},
        {"memory_numa_stat_show", KernelWork::GroupStatistics},
        {"tcp_seq_next", KernelWork::ListingSockets},
        {"tcp_seq_start", KernelWork::ListingSockets},
        {"tcp4_seq_show", KernelWork::ListingSockets},
        {"udp_seq_next", KernelWork::ListingSockets},
        {"inet_diag_dump", KernelWork::ListingSockets},
        {"unix_diag_dump", KernelWork::ListingSockets},
        {"__inet_hash_connect", KernelWork::FindingPort},
        {"inet_csk_find_open_port", KernelWork::FindingPort},
        {"inet_csk_get_port", KernelWork::FindingPort},
        {"udp_lib_get_port", KernelWork::FindingPort},
        {"ext4_mb_regular_allocator", KernelWork::FindingBlocks},
        {"drop_caches_sysctl_handler", KernelWork::EmptyingCaches},
        {"shrink_dcache_parent", KernelWork::ForgettingNames},
        {"shrink_dcache_sb", KernelWork::ForgettingNames},
        {"d_invalidate", KernelWork::ForgettingNames},
        {"copy_mnt_ns", KernelWork::Mounts},
        {"propagate_mnt", KernelWork::Mounts},
        {"umount_tree", KernelWork::Mounts},
        {"show_mountinfo", KernelWork::Mounts},
        {"show_vfsmnt", KernelWork::Mounts},
        {"load_module", KernelWork::LoadingModule},
        {"bpf_check", KernelWork::CheckingProgram},
        {"vfs_read", KernelWork::None}};
    for (const auto& [function, work] : functions)
        EXPECT_EQ(work_of({"main", "k:" + function, "k:schedule"}), work) << function;
}

TEST(KernelWork, OfSeveralIsTheOneThatExplainsTheOthers) {
    EXPECT_EQ(work_of({"k:do_exit", "k:exit_mmap", "k:vfs_coredump"}), KernelWork::CoreDump);
    EXPECT_EQ(work_of({"k:vfs_coredump", "k:exit_mmap"}), KernelWork::CoreDump);
    EXPECT_EQ(work_of({"k:wp_page_copy", "k:try_to_free_pages"}), KernelWork::MachineReclaim);
    EXPECT_EQ(work_of({"k:do_vmi_munmap", "k:smp_call_function_many_cond"}), KernelWork::OtherCpus);
    EXPECT_EQ(work_of({"k:do_vmi_munmap", "k:native_queued_spin_lock_slowpath"}),
              KernelWork::SpinningForLock);
    EXPECT_EQ(work_of({"k:d_invalidate", "k:shrink_dcache_parent", "k:iterate_dir"}),
              KernelWork::ForgettingNames);
}

TEST(KernelWork, IsNoCopyIfAPageCanBeWrittenAsItIs) {
    for (const std::string function :
         {"wp_page_reuse", "wp_page_shared", "do_page_mkwrite", "wp_pfn_shared"})
        EXPECT_EQ(work_of({"main", "k:do_wp_page", "k:" + function}), KernelWork::None) << function;
}

TEST(KernelWork, IgnoresSuffixesAndFunctionsOfPrograms) {
    EXPECT_EQ(work_of({"main", "k:dup_mm.isra.0"}), KernelWork::Fork);
    EXPECT_EQ(work_of({"main", "k:ext4_evict_inode [ext4]"}), KernelWork::FreeingFile);
    EXPECT_EQ(work_of({"main", "k:dup_mmaps"}), KernelWork::None);
    EXPECT_EQ(work_of({"main", "dup_mm"}), KernelWork::None);
    EXPECT_EQ(work_of({}), KernelWork::None);
}

TEST(KernelWork, OfAProgramBeginsWithCopyOnWrite) {
    EXPECT_FALSE(is_of_program(KernelWork::None));
    EXPECT_FALSE(is_of_program(KernelWork::Fork));
    EXPECT_FALSE(is_of_program(KernelWork::ProcessEnd));
    EXPECT_FALSE(is_of_program(KernelWork::NumaBalancing));
    EXPECT_TRUE(is_of_program(KernelWork::CopyOnWrite));
    EXPECT_TRUE(is_of_program(KernelWork::ReadingFolder));
}

TEST(KernelWork, HasWords) {
    EXPECT_EQ(to_text(KernelWork::None), "");
    EXPECT_EQ(to_text(KernelWork::CoreDump), "writing its core dump");
    EXPECT_EQ(to_text(KernelWork::GroupReclaim),
              "freeing memory of its control group, which was at its memory limit");
    EXPECT_EQ(to_text(KernelWork::MachineReclaim),
              "freeing memory, because the machine was low on memory");
    EXPECT_EQ(to_text(KernelWork::Compaction), "moving memory to make room for large pages");
    EXPECT_EQ(to_text(KernelWork::MemoryStatistics),
              "reading a process's memory statistics (such as /proc/PID/smaps)");
    EXPECT_EQ(to_text(KernelWork::Fork), "copying the memory map for a fork");
    EXPECT_EQ(to_text(KernelWork::ProcessEnd), "freeing all of its memory");
    EXPECT_EQ(to_text(KernelWork::CopyOnWrite), "copying pages that it had shared (copy on write)");
    EXPECT_EQ(to_text(KernelWork::LargePages), "clearing transparent huge pages");
    EXPECT_EQ(to_text(KernelWork::Populating),
              "filling a mapping with pages (such as MAP_POPULATE or mlock)");
    EXPECT_EQ(to_text(KernelWork::Protecting), "changing the protection of memory (mprotect)");
    EXPECT_EQ(to_text(KernelWork::Unmapping), "giving memory back (such as munmap)");
    EXPECT_EQ(to_text(KernelWork::FreeingFile), "freeing the data of a deleted or truncated file");
    EXPECT_EQ(to_text(KernelWork::ReadingFolder), "reading a folder");
    EXPECT_EQ(to_text(KernelWork::NumaBalancing),
              "moving its memory nearer to its CPU (automatic NUMA balancing)");
    EXPECT_EQ(to_text(KernelWork::SpinningForLock), "spinning for a lock of the kernel");
    EXPECT_EQ(to_text(KernelWork::OtherCpus),
              "waiting until the other CPUs had answered (such as to flush their TLBs)");
    EXPECT_EQ(to_text(KernelWork::OverlayCopy),
              "copying a file to the upper layer before its first change (overlayfs)");
    EXPECT_EQ(to_text(KernelWork::GroupStatistics),
              "adding up statistics of control groups (such as memory.stat)");
    EXPECT_EQ(to_text(KernelWork::ListingSockets), "listing the machine's sockets");
    EXPECT_EQ(to_text(KernelWork::FindingPort), "searching for a free local port");
    EXPECT_EQ(to_text(KernelWork::FindingBlocks), "searching for free space in a file system");
    EXPECT_EQ(to_text(KernelWork::ForgettingNames), "removing cached names of files");
    EXPECT_EQ(to_text(KernelWork::EmptyingCaches), "emptying the kernel's caches (drop_caches)");
    EXPECT_EQ(to_text(KernelWork::Mounts), "going through the list of mounts");
    EXPECT_EQ(to_text(KernelWork::LoadingModule), "loading a kernel module");
    EXPECT_EQ(to_text(KernelWork::CheckingProgram), "checking a BPF program");
}

TEST(KernelWorkTimes, TheLongestCountsFromAThirdOfTheWholeOn) {
    using Longest = std::pair<KernelWork, std::uint64_t>;
    const Longest none{KernelWork::None, 0};
    KernelWorkTimes times;
    EXPECT_EQ(times.longest(0), none);
    times.add(KernelWork::None, 90);
    times.add(KernelWork::Fork, 10);
    times.add(KernelWork::Unmapping, 15);
    times.add(KernelWork::Fork, 20);
    EXPECT_EQ(times.longest(90), (Longest{KernelWork::Fork, 30}));
    EXPECT_EQ(times.longest(92), (Longest{KernelWork::Fork, 30}));
    EXPECT_EQ(times.longest(93), none);
    times.add(KernelWork::Unmapping, 15);
    EXPECT_EQ(times.longest(90).first, KernelWork::Fork);
    times.add(KernelWork::Unmapping, 1);
    EXPECT_EQ(times.longest(90), (Longest{KernelWork::Unmapping, 31}));
}

}  // namespace
}  // namespace lagtrap::analysis::kernel_work_test
