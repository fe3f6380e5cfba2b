// Tracks which code is mapped where in every process, from the kernel's events, and writes it to
// the maps that stack walks read.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/code_modules.hpp"
#include "daemon/unwinding/code_space.hpp"
#include "daemon/unwinding/process_table.hpp"
#include "daemon/unwinding/reported_files.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

struct SpaceTotals {
    std::uint64_t processes = 0;
    std::uint64_t spaces = 0;
    std::uint64_t bytes = 0;              // for all mappings
    std::uint64_t limit_bytes = 0;        // limit of `bytes`
    std::uint64_t mappings_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_MAPPINGS of a process
    std::uint64_t spaces_without_room = 0;
    std::uint64_t processes_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_PROCESSES
    std::uint64_t files_waiting = 0;       // mappings of files that have not been identified yet
    // how often a process was read again because its code exceeded the limit
    std::uint64_t read_anew = 0;
    LeftOut pieces_left_out;  // mappings beyond the limit of a space or of all
};

struct SpaceLimits {
    std::size_t pieces = 4096;  // in one space, including unmapped ones
    std::uint64_t total_bytes = 96ULL << 20;
    std::uint64_t described_bytes = 32ULL << 20;  // of one capture
};

// Not thread-safe.
class ProcessSpaces {
  public:
    using Clock = std::chrono::steady_clock;
    // The references must outlive it.
    ProcessSpaces(UnwindMemory& store, CodeModules& modules, ProcessTable::FindUser find_user,
                  SpaceLimits limits = {});

    // Sets the files whose processes' tables are made before others.
    void set_watched(std::set<std::string> paths);
    // Reports to the modules what processes of these files map (CodeModules::add_watched).
    void add_watched();

    // Prioritizes a process because somebody waits for its tables: its files are inspected first,
    // and their tables are made before others. Needs a call of forget_priority() for each call.
    void prioritize(std::uint32_t pid);
    void forget_priority(std::uint32_t pid);
    // Number of the process's files whose tables are not ready or not written yet. 0: its stacks
    // can be walked as well as possible. nullopt: the process is not known yet.
    [[nodiscard]] std::optional<std::size_t> files_to_come(std::uint32_t pid) const;

    // Takes lagtrap_mapping, lagtrap_task_change, lagtrap_name and lagtrap_process records, in
    // order of time; ignores others. publish() writes the changes, so that a process that exits
    // before costs little.
    void take(const lagtrap_record* record);
    void take(const InspectedProcess& process);
    // What take() gets between these two calls, from a scan of all processes, replaces everything
    // known.
    void begin_scan();
    void end_scan();

    // Returns mappings of files that are not identified yet, grouped by process, `most` at most.
    // Pass the answers, in the same order, to identify(); the next publish() has their tables.
    using Unidentified = std::vector<std::vector<NamedMapping>>;
    [[nodiscard]] Unidentified unidentified(std::size_t most, Clock::time_point now);
    void identify(const std::vector<NamedMapping>& mappings,
                  const std::vector<Result<CodeFileIdentity>>& identities, Clock::time_point now);

    // A scan could not read this process, although it exists: it must be read again.
    void note_unread(std::uint32_t pid);
    // A process that must be read again: it mapped more than is kept, and there are no events for
    // munmap, or it could not be read before.
    [[nodiscard]] std::optional<std::uint32_t> next_outgrown(Clock::time_point now) const;
    // `process` is the result, which took `cost`; nullopt: it cannot be read now. False if the
    // process is gone.
    bool read_anew(std::uint32_t pid, const std::optional<InspectedProcess>& process,
                   Clock::duration cost, Clock::time_point now);

    void publish();
    // Sets the users of each module.
    void note_users();
    // Makes unidentified() return mapped files again that could not be read.
    void look_again_at_unread();
    // While held, at most a quarter of the limits is kept.
    void hold_memory(bool held);

    // Appends lagtrap_mapping records of all processes, those of watched programs first, for a log
    // that begins at `at_ns`. take() must have received all records up to then. Returns the number
    // of mappings left out because of the limit.
    [[nodiscard]] std::uint64_t describe(std::uint64_t at_ns, RecordBuffer& records) const;

    [[nodiscard]] SpaceTotals totals() const;

  private:
    using Process = ProcessTable::Process;

    void add_mapping(const lagtrap_mapping& mapping);
    [[nodiscard]] CodePiece piece_of(const lagtrap_mapping& mapping);
    void put(CodeSpace& space, CodePiece piece);
    [[nodiscard]] std::vector<NamedMapping> unidentified_of(std::uint32_t pid, CodeSpace& space,
                                                            std::size_t most,
                                                            Clock::time_point now);
    void prioritize_tables_of(const CodeSpace& space);

    CodeModules& modules_;
    const SpaceLimits limits_;
    std::set<std::string> watched_;
    ReportedFiles reported_files_;
    ProcessTable processes_;
    std::multiset<std::uint32_t> prioritized_;  // processes
    std::set<std::uint32_t> scanned_;
    Clock::time_point next_reading_;  // of any process
    bool changed_ = false;
    std::uint64_t generation_ = 0;
    SpaceTotals totals_;
};

}  // namespace lagtrap::daemon
