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
        {"vfs_read", KernelWork::None}};
    for (const auto& [function, work] : functions)
        EXPECT_EQ(work_of({"main", "k:" + function, "k:schedule"}), work) << function;
}

TEST(KernelWork, OfSeveralIsTheOneThatExplainsTheOthers) {
    EXPECT_EQ(work_of({"k:do_exit", "k:exit_mmap", "k:vfs_coredump"}), KernelWork::CoreDump);
    EXPECT_EQ(work_of({"k:vfs_coredump", "k:exit_mmap"}), KernelWork::CoreDump);
    EXPECT_EQ(work_of({"k:wp_page_copy", "k:try_to_free_pages"}), KernelWork::MachineReclaim);
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
