// What code lies where in every process, kept up to date from the kernel's events and written to where the walk of
// stacks reads it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "daemon/code_modules.hpp"
#include "daemon/process_scan.hpp"
#include "daemon/unwind_memory.hpp"

namespace lagtrap::daemon {

struct SpaceTotals {
    std::uint64_t processes = 0;
    std::uint64_t spaces = 0;
    std::uint64_t mappings_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_MAPPINGS of a process
    std::uint64_t spaces_without_room = 0;
    std::uint64_t processes_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_PROCESSES
};

// Not for several threads at once.
class ProcessSpaces {
  public:
    ProcessSpaces(UnwindMemory& store, CodeModules& modules) : store_(store), modules_(modules) {}

    // lagtrap_mapping, lagtrap_task_change and lagtrap_name records, in order of time; others are passed over.
    // Changes are noted; publish() writes them, and opens files that are new: a process that came and went in
    // between costs little.
    void take(const lagtrap_record* record);
    // Takes what a scan of all processes found in the place of everything known.
    void start_over(const RecordBuffer& scan);
    void publish();

    // Appends the lagtrap_mapping records of all processes, for a log that begins at `at_ns`, up to which the records given
    // to take() reach.
    void describe(std::uint64_t at_ns, RecordBuffer& records) const;

    [[nodiscard]] SpaceTotals totals() const;

  private:
    enum class PieceKind { RuntimeCode, File };
    // A mapping as the kernel told it; its module is looked for when it is first published.
    struct Piece {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::uint64_t file_offset = 0;
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        PieceKind kind = PieceKind::RuntimeCode;
        bool resolved = false;
        std::shared_ptr<CodeModule> module;
        std::shared_ptr<const std::string> told;  // the lagtrap_mapping and its path, but where the module has both
    };
    struct Space {
        explicit Space(UnwindMemory& in_store) : store(in_store) {}
        ~Space();
        Space(const Space&) = delete;
        Space& operator=(const Space&) = delete;

        UnwindMemory& store;
        std::map<std::uint64_t, Piece> pieces;  // by start; none overlaps another
        bool changed = true;
        std::uint64_t generation = 0;  // of the modules, when it was written
        std::optional<lagtrap_unwind_space> place;
        std::vector<lagtrap_unwind_mapping> written;
    };
    // A space is shared by processes that were forked and changed nothing since.
    struct Process {
        std::shared_ptr<Space> space;
        std::shared_ptr<Space> published;  // the one that the kernel side has been told of
        std::uint32_t first_block = 0;     // and where it lay
    };

    void add_mapping(const lagtrap_mapping& mapping);
    void fork(const lagtrap_task_change& change);
    void end(std::uint32_t pid);
    static void cut_out(Space& space, std::uint64_t start, std::uint64_t end);
    [[nodiscard]] Space& own_space(std::uint32_t pid);
    void resolve(Space& space, std::uint32_t pid);
    static void describe(const Piece& piece, lagtrap_mapping mapping, RecordBuffer& records);
    [[nodiscard]] std::vector<lagtrap_unwind_mapping> mappings_of(const Space& space);
    void write(Space& space);

    UnwindMemory& store_;
    CodeModules& modules_;
    std::unordered_map<std::uint32_t, Process> processes_;
    bool changed_ = false;
    std::uint64_t generation_ = 0;
    SpaceTotals totals_;
};

}  // namespace lagtrap::daemon
