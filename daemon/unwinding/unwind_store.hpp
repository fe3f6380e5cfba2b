// The BPF maps with unwind tables and address spaces (bpf/unwind.h). They are created once and
// outlive the programs that read them, which are loaded again with new settings.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "binaries/unwind/unwind_table.hpp"
#include "bpf/unwind.h"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/kernel/block_allocator.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

// Not thread-safe.
class UnwindStore : public UnwindMemory {
  public:
    // `budget_bytes` limits tables and spaces together. Memory is allocated in regions of 4 MiB as
    // needed.
    [[nodiscard]] static Result<std::unique_ptr<UnwindStore>> create(std::uint64_t budget_bytes);
    ~UnwindStore() override;

    // For programs that walk stacks: these maps replace those that they declare.
    [[nodiscard]] int regions_fd() const { return regions_.get(); }
    [[nodiscard]] int tables_fd() const { return tables_.get(); }
    [[nodiscard]] int processes_fd() const { return processes_.get(); }

    [[nodiscard]] std::optional<std::uint32_t> new_table() override;
    void set_state(std::uint32_t table, lagtrap_unwind_table_state state) override;
    [[nodiscard]] bool fill(std::uint32_t table, const binaries::UnwindTable& content) override;
    void drop_table(std::uint32_t table) override;
    [[nodiscard]] std::optional<lagtrap_unwind_space> add_space(
        std::span<const lagtrap_unwind_mapping> mappings) override;
    void drop_space(lagtrap_unwind_space space) override;
    [[nodiscard]] bool set_process(std::uint32_t pid, lagtrap_unwind_space space) override;
    void drop_process(std::uint32_t pid) override;
    void drop_all_processes() override;
    [[nodiscard]] std::uint64_t used_bytes() const override {
        return std::uint64_t{blocks_.used()} * LAGTRAP_UNWIND_BLOCK_BYTES;
    }
    // While held, no more than what is allocated already.
    [[nodiscard]] std::uint64_t budget_bytes() const override {
        return held_ ? taken_bytes() : budget_bytes_;
    }
    [[nodiscard]] std::uint64_t taken_bytes() const {  // from the kernel
        return std::uint64_t{blocks_.size()} * LAGTRAP_UNWIND_BLOCK_BYTES;
    }
    // While held, no more memory is allocated from the kernel.
    void hold(bool held) { held_ = held; }

  private:
    explicit UnwindStore(std::uint64_t budget_bytes);
    [[nodiscard]] Status make_maps();
    [[nodiscard]] bool add_region();
    [[nodiscard]] std::optional<std::uint32_t> take_blocks(std::uint32_t blocks,
                                                           std::uint32_t alignment);
    // Copies `bytes` to the block; they may continue in the next regions.
    void write(std::uint32_t first_block, const void* from, std::size_t bytes);

    std::uint64_t budget_bytes_;
    bool held_ = false;
    UniqueFd regions_, tables_, processes_;
    lagtrap_unwind_table* table_entries_ = nullptr;
    std::vector<char*> region_memory_;
    BlockAllocator blocks_;
    std::vector<std::uint32_t> free_tables_;
    std::uint32_t next_table_ = LAGTRAP_UNWIND_FIRST_FILE;
};

}  // namespace lagtrap::daemon
