#include "analysis/kernel_work.hpp"

#include <algorithm>
#include <array>

namespace lagtrap::analysis {

namespace {

struct KernelTask {
    std::string_view function;
    KernelWork work;
};

// Earlier entries take precedence: a process that dumps core also ends.
constexpr auto kernel_tasks = std::to_array<KernelTask>({
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
    // do_wp_page() copies, with wp_page_copy() inlined, unless it does one of these
    {"wp_page_reuse", KernelWork::None},
    {"wp_page_shared", KernelWork::None},
    {"do_page_mkwrite", KernelWork::None},
    {"wp_pfn_shared", KernelWork::None},
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
});

// Functions of kernel modules are written "function [module]", compilers' copies "function.isra.0".
std::string_view plain_name(std::string_view function) {
    return function.substr(0, function.find_first_of(" ."));
}

}  // namespace

KernelWork kernel_work_of(const Recording& recording, StackId stack) {
    auto best = kernel_tasks.end();
    for (const std::uint32_t place : recording.stacks[stack]) {
        const Frame& frame = recording.frames[place];
        if (!frame.kernel) continue;
        const std::string_view function = plain_name(recording.name(frame.label));
        best = std::min(best, std::find_if(kernel_tasks.begin(), kernel_tasks.end(),
                                           [&](const KernelTask& entry) {
                                               return entry.function == function;
                                           }));
    }
    return best != kernel_tasks.end() ? best->work : KernelWork::None;
}

bool is_of_program(KernelWork work) { return work >= KernelWork::CopyOnWrite; }

std::string_view to_text(KernelWork work) {
    switch (work) {
        case KernelWork::CoreDump: return "writing its core dump";
        case KernelWork::GroupReclaim:
            return "freeing memory of its control group, which was at its memory limit";
        case KernelWork::MachineReclaim:
            return "freeing memory, because the machine was low on memory";
        case KernelWork::Compaction: return "moving memory to make room for large pages";
        case KernelWork::MemoryStatistics:
            return "reading a process's memory statistics (such as /proc/PID/smaps)";
        case KernelWork::Fork: return "copying the memory map for a fork";
        case KernelWork::ProcessEnd: return "freeing all of its memory";
        case KernelWork::CopyOnWrite: return "copying pages that it had shared (copy on write)";
        case KernelWork::LargePages: return "clearing transparent huge pages";
        case KernelWork::Populating:
            return "filling a mapping with pages (such as MAP_POPULATE or mlock)";
        case KernelWork::Protecting: return "changing the protection of memory (mprotect)";
        case KernelWork::Unmapping: return "giving memory back (such as munmap)";
        case KernelWork::FreeingFile: return "freeing the data of a deleted or truncated file";
        case KernelWork::ReadingFolder: return "reading a folder";
        case KernelWork::None: break;
    }
    return "";
}

std::pair<KernelWork, std::uint64_t> KernelWorkTimes::longest(std::uint64_t whole_ns) const {
    std::pair<KernelWork, std::uint64_t> found{KernelWork::None, 0};
    for (const auto& [work, time_ns] : times_)
        if (work != KernelWork::None && time_ns > found.second && time_ns >= whole_ns / 3)
            found = {work, time_ns};
    return found;
}

}  // namespace lagtrap::analysis
