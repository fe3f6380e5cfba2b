// A file whose code processes have mapped, and the making of its unwind table.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "binaries/unwind/unwind_cache.hpp"
#include "binaries/unwind/unwind_table.hpp"
#include "core/party.hpp"
#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

enum class ModuleState {
    Waiting,        // its table is being made, or a process through which it can be read has yet to come
    Ready,          // the kernel side has its table
    FramePointers,  // the file has no unwind information
    NoRoom,         // its table does not fit into the budget
    Failed,         // the file could not be read; `problem` says why
};

// A table of the kernel side, by its number; files with the same content share one.
struct StoredTable {
    StoredTable(UnwindMemory& in_store, std::uint32_t with_number) : store(in_store), number(with_number) {}
    ~StoredTable() { store.drop_table(number); }
    StoredTable(const StoredTable&) = delete;
    StoredTable& operator=(const StoredTable&) = delete;

    UnwindMemory& store;
    const std::uint32_t number;
};

struct CodeModule {
    // What the file is: never what it says of itself. Files that others than root can write have the user in it too.
    std::string key;
    bool kept_on_disk = false;  // nobody but root can have put anything into it
    CodeFileIdentity identity;
    std::string build_id;            // hexadecimal; empty: none, or not known yet
    std::string path;                // as the first process had it
    NamedMapping reachable;          // the last mapping through which it could be opened
    std::uint32_t charged_user = 0;  // by whose process it came
    std::set<std::uint32_t> users;   // whose processes have it
    std::uint32_t table = LAGTRAP_UNWIND_UNREADABLE_FILE;
    std::shared_ptr<StoredTable> stored;
    ModuleState state = ModuleState::Waiting;
    std::string problem;
    std::uint64_t table_bytes = 0;
    std::uint64_t base_address = 0;
    std::vector<binaries::CodeSegment> segments;
    bool queued = false;
    std::set<std::uint32_t> waiting_users;  // in whose turns it is queued
    bool watched_waits = false;             // and among those of watched programs
    std::chrono::steady_clock::time_point last_used;
    std::chrono::steady_clock::time_point next_try;  // of one that found no room

    // Where the table's first bucket would lie, for a mapping of this file; meaningless unless the state is Ready.
    [[nodiscard]] std::uint64_t table_start(std::uint64_t start, std::uint64_t file_offset) const;
    [[nodiscard]] bool is_vdso() const;
    // It was to be read through a process that is gone by now, or the file's inode was changed before it was opened (it was
    // unlinked): a process that still has it mapped has to be looked at anew.
    [[nodiscard]] bool unread() const { return state == ModuleState::Waiting && !queued; }
};

inline constexpr const char* vdso_path = "[vdso]";

// For whom a table is made.
struct TableRequest {
    Party user = root_party;
    bool watched = false;  // a process of a watched program waits for it
};

// A table to be made, away from everything else: only this takes long.
struct TableJob {
    std::shared_ptr<CodeModule> module;
    TableRequest request;
    NamedMapping mapping;       // by which it is opened
    CodeFileIdentity identity;  // of the module, which is another thread's meanwhile
    std::string key;
    std::string build_id;
    bool kept_on_disk = false;
    UniqueFd file;  // once it is open; not valid for the vDSO
    std::chrono::steady_clock::time_point next_try;
    std::chrono::steady_clock::duration pause{};
};

struct MadeTable {
    std::shared_ptr<CodeModule> module;
    TableRequest request;
    std::optional<binaries::UnwindTable> table;
    std::string digest;                       // of the table, where there is one
    ModuleState state = ModuleState::Failed;  // where there is none
    std::string problem;
    std::string build_id;
    bool from_cache = false;
    std::uint64_t cpu_ns = 0;                    // of this thread
    std::chrono::steady_clock::duration took{};  // CPU time, or what it held up another thread
    std::optional<TableJob> again;               // nobody could read the file now: to be tried later
};

// Opens the job's file and reads its build id, where it is not known. What is given is the end of the job: it cannot be read.
[[nodiscard]] std::optional<MadeTable> open_for(TableJob& job, ProcessInspector& inspector);
// From the cache: takes microseconds to milliseconds. nullopt: the cache does not have it.
[[nodiscard]] std::optional<MadeTable> load_table(const TableJob& job, const binaries::UnwindCache& cache);
// From the file, some 15 ms per MB of unwind information; into the cache too, if there is one.
[[nodiscard]] MadeTable make_table(TableJob job, const binaries::UnwindCache* cache);

}  // namespace lagtrap::daemon
