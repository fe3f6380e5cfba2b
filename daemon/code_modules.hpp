// The files whose code processes have mapped, one entry per content, and the unwind tables made of them: lazily, from
// the cache where it has them, given up when no process maps the file any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "binaries/unwind_cache.hpp"
#include "binaries/unwind_table.hpp"
#include "bpf/records.h"
#include "core/unique_fd.hpp"
#include "daemon/unwind_memory.hpp"

namespace lagtrap::daemon {

enum class ModuleState {
    Waiting,        // its table is being made, or a process through which it can be read has yet to come
    Ready,          // the kernel side has its table
    FramePointers,  // the file has no unwind information
    NoRoom,         // its table does not fit into the budget
    Failed,         // the file could not be read; `problem` says why
};

struct CodeModule {
    std::string key;   // build id in hexadecimal, or what else stands for the content
    std::string path;  // as the first process had it
    std::uint32_t table = LAGTRAP_UNWIND_UNREADABLE_FILE;
    ModuleState state = ModuleState::Waiting;
    std::string problem;
    std::uint64_t table_bytes = 0;
    std::uint64_t base_address = 0;
    std::vector<binaries::CodeSegment> segments;
    bool queued = false;
    std::chrono::steady_clock::time_point last_used;
    std::chrono::steady_clock::time_point next_try;  // of one that found no room

    // Where the table's first bucket would lie, for a mapping of this file; meaningless unless the state is Ready.
    [[nodiscard]] std::uint64_t table_start(std::uint64_t start, std::uint64_t file_offset) const;
};

// A table to be made, away from everything else: only this function's work takes long.
struct TableJob {
    std::shared_ptr<CodeModule> module;
    std::string key;
    UniqueFd file;            // not valid for the vDSO, and where it could not be opened
    lagtrap_mapping mapping;  // by which it is opened when its turn comes
    std::string path;
};

struct MadeTable {
    std::shared_ptr<CodeModule> module;
    std::optional<binaries::UnwindTable> table;
    ModuleState state = ModuleState::Failed;  // where there is no table
    std::string problem;
    bool from_cache = false;
    std::uint64_t cpu_ns = 0;       // of this thread
    std::optional<TableJob> again;  // nobody could read the file now: to be tried later
};

// From the cache: takes microseconds to milliseconds. nullopt: the cache does not have it.
[[nodiscard]] std::optional<MadeTable> load_table(const TableJob& job, const binaries::UnwindCache& cache);
// From the file, some 15 ms per MB of unwind information; into the cache too, if there is one.
[[nodiscard]] MadeTable make_table(TableJob job, const binaries::UnwindCache* cache);

struct ModuleTotals {
    std::uint64_t made = 0;
    std::uint64_t from_cache = 0;
    std::uint64_t failed = 0;
    std::uint64_t make_cpu_ns = 0;
    std::uint64_t from_cache_cpu_ns = 0;
};

// Not for several threads at once.
class CodeModules {
  public:
    CodeModules(UnwindMemory& store, std::string proc_root) : store_(store), proc_root_(std::move(proc_root)) {}

    // The module of a mapping of a file or of the vDSO. A new one is queued for its table if its file can be opened
    // through the process, now. nullptr: nothing tells what file it is, or there are too many.
    [[nodiscard]] std::shared_ptr<CodeModule> module_of(const lagtrap_mapping& mapping, const std::string& path);

    [[nodiscard]] std::optional<TableJob> next_job();
    [[nodiscard]] std::size_t waiting() const { return jobs_.size(); }
    // Takes a table in. If there is no room, those of files that nobody maps give way.
    void take(MadeTable made);
    // Gives up what nobody has mapped for a while; queues what could not be read, if files can be read again.
    void sweep(std::chrono::steady_clock::time_point now);

    // Changes whenever a module becomes ready.
    [[nodiscard]] std::uint64_t generation() const { return generation_; }
    [[nodiscard]] const ModuleTotals& totals() const { return totals_; }
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const auto& [key, module] : by_key_) visit(*module);
    }

  private:
    [[nodiscard]] std::string key_of(const lagtrap_mapping& mapping, const std::string& path, UniqueFd& file) const;
    [[nodiscard]] UniqueFd open(const lagtrap_mapping& mapping, const std::string& path) const;
    [[nodiscard]] bool give_up_one(std::chrono::steady_clock::time_point unused_since);

    UnwindMemory& store_;
    std::string proc_root_;
    std::map<std::string, std::shared_ptr<CodeModule>> by_key_;
    std::deque<TableJob> jobs_;
    std::deque<TableJob> postponed_;
    ModuleTotals totals_;
    std::uint64_t generation_ = 0;
};

}  // namespace lagtrap::daemon
