#include "daemon/unwinding/unwind_store.hpp"

#include <bpf/bpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "daemon/kernel/libbpf_support.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t region_bytes =
    std::size_t{LAGTRAP_UNWIND_REGION_PAGES} * LAGTRAP_UNWIND_PAGE_BYTES;
constexpr std::uint32_t blocks_per_page = LAGTRAP_UNWIND_PAGE_BYTES / LAGTRAP_UNWIND_BLOCK_BYTES;
constexpr std::uint32_t blocks_per_region = LAGTRAP_UNWIND_REGION_PAGES * blocks_per_page;
constexpr std::size_t tables_bytes = sizeof(lagtrap_unwind_table) * LAGTRAP_UNWIND_MAX_TABLES;

Result<UniqueFd> make_region() {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const int fd =
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_region", sizeof(__u32),
                       sizeof(lagtrap_unwind_page), LAGTRAP_UNWIND_REGION_PAGES, &options);
    if (fd < 0) return libbpf_error("allocate unwind tables", fd);
    return UniqueFd(fd);
}

// Number of blocks for the mappings. Blocks must not cross a page boundary unless they fill whole
// pages.
std::uint32_t blocks_of_space(std::uint32_t mappings) {
    const std::uint32_t blocks = std::max(
        1U, (mappings + LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK - 1) / LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK);
    if (blocks <= 2) return blocks;
    return (blocks + blocks_per_page - 1) / blocks_per_page * blocks_per_page;
}

}  // namespace

UnwindStore::UnwindStore(std::uint64_t budget_bytes)
    : budget_bytes_(budget_bytes), blocks_(BlockAllocator::usual_rest) {}

UnwindStore::~UnwindStore() {
    for (char* memory : region_memory_) ::munmap(memory, region_bytes);
    if (table_entries_) ::munmap(table_entries_, tables_bytes);
}

Result<std::unique_ptr<UnwindStore>> UnwindStore::create(std::uint64_t budget_bytes) {
    std::unique_ptr<UnwindStore> store(new UnwindStore(budget_bytes));
    TRY(store->make_maps());
    return store;
}

Status UnwindStore::make_maps() {
    TRY_ASSIGN(const UniqueFd pattern, make_region());
    LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = static_cast<__u32>(pattern.get()));
    const int regions = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "unwind_regions", sizeof(__u32),
                                       sizeof(__u32), LAGTRAP_UNWIND_MAX_REGIONS, &outer);
    if (regions < 0) return libbpf_error("create the list of unwind regions", regions);
    regions_.reset(regions);
    LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
    const int tables =
        bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_tables", sizeof(__u32),
                       sizeof(lagtrap_unwind_table), LAGTRAP_UNWIND_MAX_TABLES, &mapped);
    if (tables < 0) return libbpf_error("create the list of unwind tables", tables);
    tables_.reset(tables);
    LIBBPF_OPTS(bpf_map_create_opts, hash, .map_flags = BPF_F_NO_PREALLOC);
    const int processes =
        bpf_map_create(BPF_MAP_TYPE_HASH, "unwind_procs", sizeof(__u32),
                       sizeof(lagtrap_unwind_space), LAGTRAP_UNWIND_MAX_PROCESSES, &hash);
    if (processes < 0) return libbpf_error("create the list of processes to unwind", processes);
    processes_.reset(processes);
    void* memory = ::mmap(nullptr, tables_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tables, 0);
    if (memory == MAP_FAILED) return system_error("map the list of unwind tables");
    table_entries_ = static_cast<lagtrap_unwind_table*>(memory);
    set_state(LAGTRAP_UNWIND_RUNTIME_CODE, LAGTRAP_UNWIND_TABLE_FRAME_POINTERS);
    return success();
}

bool UnwindStore::add_region() {
    const auto number = static_cast<__u32>(region_memory_.size());
    if (held_ || (number + 1) * region_bytes > budget_bytes_ ||
        number >= LAGTRAP_UNWIND_MAX_REGIONS)
        return false;
    const auto region = make_region();
    if (!region) return false;
    void* memory =
        ::mmap(nullptr, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, region->get(), 0);
    if (memory == MAP_FAILED) return false;
    const __u32 fd = static_cast<__u32>(region->get());
    if (bpf_map_update_elem(regions_.get(), &number, &fd, BPF_ANY) != 0) {
        ::munmap(memory, region_bytes);
        return false;
    }
    region_memory_.push_back(static_cast<char*>(memory));
    blocks_.grow(blocks_per_region);
    return true;
}

std::optional<std::uint32_t> UnwindStore::take_blocks(std::uint32_t blocks,
                                                      std::uint32_t alignment) {
    const auto now = BlockAllocator::Clock::now();
    for (;;) {
        if (const auto first = blocks_.allocate(blocks, alignment, now)) return first;
        if (!add_region()) return std::nullopt;
    }
}

void UnwindStore::write(std::uint32_t first_block, const void* from, std::size_t bytes) {
    std::size_t at = std::size_t{first_block} * LAGTRAP_UNWIND_BLOCK_BYTES;
    const char* source = static_cast<const char*>(from);
    while (bytes > 0) {
        const std::size_t in_region = at % region_bytes;
        const std::size_t piece = std::min(bytes, region_bytes - in_region);
        std::memcpy(region_memory_[at / region_bytes] + in_region, source, piece);
        at += piece;
        source += piece;
        bytes -= piece;
    }
}

std::optional<std::uint32_t> UnwindStore::new_table() {
    if (!free_tables_.empty()) {
        const std::uint32_t table = free_tables_.back();
        free_tables_.pop_back();
        return table;
    }
    if (next_table_ >= LAGTRAP_UNWIND_MAX_TABLES) return std::nullopt;
    return next_table_++;
}

void UnwindStore::set_state(std::uint32_t table, lagtrap_unwind_table_state state) {
    __atomic_store_n(&table_entries_[table].state, state, __ATOMIC_RELEASE);
}

bool UnwindStore::fill(std::uint32_t table, const binaries::UnwindTable& content) {
    const auto first = take_blocks(content.page_count * blocks_per_page, blocks_per_page);
    if (!first) return false;
    write(*first, content.pages.data(), content.size_bytes());
    lagtrap_unwind_table& entry = table_entries_[table];
    entry.first_page = *first / blocks_per_page;
    entry.bucket_count = content.bucket_count;
    entry.rule_page = content.rule_page;
    entry.page_count = content.page_count;
    set_state(table, LAGTRAP_UNWIND_TABLE_READY);
    return true;
}

void UnwindStore::drop_table(std::uint32_t table) {
    const lagtrap_unwind_table entry = table_entries_[table];
    set_state(table, LAGTRAP_UNWIND_TABLE_MISSING);
    if (entry.state == LAGTRAP_UNWIND_TABLE_READY)
        blocks_.release(entry.first_page * blocks_per_page, entry.page_count * blocks_per_page,
                        BlockAllocator::Clock::now());
    free_tables_.push_back(table);
}

std::optional<lagtrap_unwind_space> UnwindStore::add_space(
    std::span<const lagtrap_unwind_mapping> mappings) {
    const auto count = static_cast<std::uint32_t>(
        std::min<std::size_t>(mappings.size(), LAGTRAP_UNWIND_MAX_MAPPINGS));
    const std::uint32_t blocks = blocks_of_space(count);
    const auto first = take_blocks(blocks, std::min(blocks, blocks_per_page));
    if (!first) return std::nullopt;
    write(*first, mappings.data(), count * sizeof(lagtrap_unwind_mapping));
    return lagtrap_unwind_space{*first, count};
}

void UnwindStore::drop_space(lagtrap_unwind_space space) {
    blocks_.release(space.first_block, blocks_of_space(space.mapping_count),
                    BlockAllocator::Clock::now());
}

bool UnwindStore::set_process(std::uint32_t pid, lagtrap_unwind_space space) {
    return bpf_map_update_elem(processes_.get(), &pid, &space, BPF_ANY) == 0;
}

void UnwindStore::drop_all_processes() {
    __u32 pid = 0;
    for (int i = 0; i < LAGTRAP_UNWIND_MAX_PROCESSES &&
                    bpf_map_get_next_key(processes_.get(), nullptr, &pid) == 0;
         ++i)
        (void)bpf_map_delete_elem(processes_.get(), &pid);
}

void UnwindStore::drop_process(std::uint32_t pid) {
    (void)bpf_map_delete_elem(processes_.get(), &pid);
}

}  // namespace lagtrap::daemon
