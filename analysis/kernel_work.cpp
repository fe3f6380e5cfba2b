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
        case KernelWork::NumaBalancing:
            return "moving its memory nearer to its CPU (automatic NUMA balancing)";
        case KernelWork::CopyOnWrite: return "copying pages that it had shared (copy on write)";
        case KernelWork::LargePages: return "clearing transparent huge pages";
        case KernelWork::Populating:
            return "filling a mapping with pages (such as MAP_POPULATE or mlock)";
        case KernelWork::Protecting: return "changing the protection of memory (mprotect)";
        case KernelWork::Unmapping: return "giving memory back (such as munmap)";
        case KernelWork::FreeingFile: return "freeing the data of a deleted or truncated file";
        case KernelWork::ReadingFolder: return "reading a folder";
        case KernelWork::SpinningForLock: return "spinning for a lock of the kernel";
        case KernelWork::OtherCpus:
            return "waiting until the other CPUs had answered (such as to flush their TLBs)";
        case KernelWork::OverlayCopy:
            return "copying a file to the upper layer before its first change (overlayfs)";
        case KernelWork::GroupStatistics:
            return "adding up statistics of control groups (such as memory.stat)";
        case KernelWork::ListingSockets: return "listing the machine's sockets";
        case KernelWork::FindingPort: return "searching for a free local port";
        case KernelWork::FindingBlocks: return "searching for free space in a file system";
        case KernelWork::ForgettingNames: return "removing cached names of files";
        case KernelWork::EmptyingCaches: return "emptying the kernel's caches (drop_caches)";
        case KernelWork::Mounts: return "going through the list of mounts";
        case KernelWork::LoadingModule: return "loading a kernel module";
        case KernelWork::CheckingProgram: return "checking a BPF program";
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
