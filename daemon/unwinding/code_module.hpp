// A file that processes have mapped as code, and the creation of its unwind table.
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
    Waiting,        // its table is being made, or no process is left through which it can be read
    Ready,          // the kernel side has its table
    FramePointers,  // the file has no unwind information
    NoRoom,         // its table does not fit into the memory budget
    Failed,         // the file could not be read; `problem` has the reason
};

// A table in the kernel's maps, by its number. Files with identical tables share one.
struct StoredTable {
    StoredTable(UnwindMemory& in_store, std::uint32_t with_number)
        : store(in_store), number(with_number) {}
    ~StoredTable() { store.drop_table(number); }
    StoredTable(const StoredTable&) = delete;
    StoredTable& operator=(const StoredTable&) = delete;

    UnwindMemory& store;
    const std::uint32_t number;
};

struct CodeModule {
    // Identifies the file, but never by what the file claims about itself. Files that others than
    // root can write also have the user in their key.
    std::string key;
    bool kept_on_disk = false;  // only root can have changed its content
    CodeFileIdentity identity;
    std::string build_id;            // hexadecimal; empty if none or not known yet
    std::string path;                // as the first process named it
    NamedMapping reachable;          // the last mapping through which it could be opened
    std::uint32_t charged_user = 0;  // the user whose process mapped it first
    std::set<std::uint32_t> users;   // users with processes that map it
    std::uint32_t table = LAGTRAP_UNWIND_UNREADABLE_FILE;
    std::shared_ptr<StoredTable> stored;
    ModuleState state = ModuleState::Waiting;
    std::string problem;
    std::uint64_t table_bytes = 0;
    std::uint64_t base_address = 0;
    std::vector<binaries::CodeSegment> segments;
    bool queued = false;
    std::set<std::uint32_t> waiting_users;  // users in whose turns it is queued
    bool watched_waits = false;             // also queued for watched programs
    std::chrono::steady_clock::time_point last_used;
    std::chrono::steady_clock::time_point next_try;  // of one without room

    // Where the table's first bucket would be for a mapping of this file. Meaningful only if the
    // state is Ready.
    [[nodiscard]] std::uint64_t table_start(std::uint64_t start, std::uint64_t file_offset) const;
    [[nodiscard]] bool is_vdso() const;
    // True if it could not be read because the process is gone, or because the inode changed (it
    // was unlinked) before it was opened. Then a process that still maps it must be inspected
    // again.
    [[nodiscard]] bool unread() const { return state == ModuleState::Waiting && !queued; }
};

inline constexpr const char* vdso_path = "[vdso]";

// For whom a table is made.
struct TableRequest {
    Party user = root_party;
    bool watched = false;  // a process of a watched program waits for it
};

// A table to be made on another thread, because this takes long.
struct TableJob {
    std::shared_ptr<CodeModule> module;
    TableRequest request;
    NamedMapping mapping;       // for opening the file
    CodeFileIdentity identity;  // copied, because another thread owns the module
    std::string key;
    std::string build_id;
    bool kept_on_disk = false;
    UniqueFd file;  // once opened; invalid for the vDSO
    std::chrono::steady_clock::time_point next_try;
    std::chrono::steady_clock::duration pause{};
};

struct MadeTable {
    std::shared_ptr<CodeModule> module;
    TableRequest request;
    std::optional<binaries::UnwindTable> table;
    std::string digest;                       // of the table, if there is one
    ModuleState state = ModuleState::Failed;  // if there is no table
    std::string problem;
    std::string build_id;
    bool from_cache = false;
    std::uint64_t cpu_ns = 0;                    // of this thread
    std::chrono::steady_clock::duration took{};  // CPU time, or how long it blocked another thread
    std::optional<TableJob> again;               // the file cannot be read now; retry later
};

// Opens the job's file, and reads its build id if it is unknown. A result ends the job: the file
// cannot be read.
[[nodiscard]] std::optional<MadeTable> open_for(TableJob& job, ProcessInspector& inspector);
// Loads the table from the cache, in microseconds to milliseconds. nullopt if it is not cached.
[[nodiscard]] std::optional<MadeTable> load_table(const TableJob& job,
                                                  const binaries::UnwindCache& cache);
// Makes the table from the file, in about 15 ms per MB of unwind information, and stores it in the
// cache if there is one.
[[nodiscard]] MadeTable make_table(TableJob job, const binaries::UnwindCache* cache);

}  // namespace lagtrap::daemon
