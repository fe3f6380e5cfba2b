// What code lies where in every process, kept up to date from the kernel's events and written to where the walk of
// stacks reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "bpf/records.h"
#include "daemon/processes/code_pieces.hpp"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/user_shares.hpp"
#include "daemon/unwinding/code_modules.hpp"
#include "daemon/unwinding/unwind_memory.hpp"

namespace lagtrap::daemon {

struct SpaceTotals {
    std::uint64_t processes = 0;
    std::uint64_t spaces = 0;
    std::uint64_t bytes = 0;              // of all that is known of mappings
    std::uint64_t limit_bytes = 0;        // of them
    std::uint64_t mappings_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_MAPPINGS of a process
    std::uint64_t spaces_without_room = 0;
    std::uint64_t processes_left_out = 0;  // beyond LAGTRAP_UNWIND_MAX_PROCESSES
    std::uint64_t files_waiting = 0;       // mappings of files of which nobody has told yet what they are
    std::uint64_t read_anew = 0;           // times that a process's code outgrew its limit
    LeftOut pieces_left_out;               // mappings beyond the limit of a space or of all
};

struct SpaceLimits {
    std::size_t pieces = 4096;  // of one space, those that were unmapped since among them
    std::uint64_t total_bytes = 96ULL << 20;
    std::uint64_t described_bytes = 32ULL << 20;  // of one capture
};

// Not for several threads at once.
class ProcessSpaces {
  public:
    using Clock = std::chrono::steady_clock;
    // Whose a process is; nullopt: it is gone.
    using FindUser = std::function<std::optional<Party>(std::uint32_t pid)>;
    ProcessSpaces(UnwindMemory& store, CodeModules& modules, FindUser find_user, SpaceLimits limits = {});

    // Files whose processes' tables are made before others'.
    void set_watched(std::set<std::string> paths);
    // Tells the modules what processes of these files have mapped (CodeModules::add_watched).
    void add_watched();

    // Somebody waits for the tables of this process: its files are looked at first, and their tables are made before others',
    // until that many calls of forget_hurry().
    void hurry(std::uint32_t pid);
    void forget_hurry(std::uint32_t pid);
    // Files of the process whose tables are still to come, or to be told to the kernel side; 0: its stacks can be walked as well
    // as they will be. nullopt: the process is not known yet.
    [[nodiscard]] std::optional<std::size_t> files_to_come(std::uint32_t pid) const;

    // lagtrap_mapping, lagtrap_task_change, lagtrap_name and lagtrap_process records, in order of time; others are passed
    // over. Changes are noted; publish() writes them: a process that came and went in between costs little.
    void take(const lagtrap_record* record);
    void take(const InspectedProcess& process);
    // What a scan of all processes tells, by take(), between these two takes the place of everything known.
    void begin_scan();
    void end_scan();

    // Mappings of files, of a process each, of which is not known yet what they are: `most` at most. After the answers came,
    // as many as there were, identify() is told of them; then publish() has tables for them.
    using Unidentified = std::vector<std::vector<NamedMapping>>;
    [[nodiscard]] Unidentified unidentified(std::size_t most, Clock::time_point now);
    void identify(const std::vector<NamedMapping>& mappings, const std::vector<Result<CodeFileIdentity>>& identities,
                  Clock::time_point now);

    // Of a process that is there a scan could tell nothing: it is to be read anew.
    void note_unread(std::uint32_t pid);
    // A process whose code is to be read anew, since more was mapped than is kept and nobody tells what was unmapped, or
    // since it could not be read before.
    [[nodiscard]] std::optional<std::uint32_t> next_outgrown(Clock::time_point now) const;
    // `process`: what was read, which took `cost`; nullopt: it cannot be read now. False: the process is gone by now.
    bool read_anew(std::uint32_t pid, const std::optional<InspectedProcess>& process, Clock::duration cost,
                   Clock::time_point now);

    void publish();
    // Tells each module which users' processes have it.
    void note_users();
    // What is mapped and could not be read by what was known of it is asked for by unidentified() once more.
    void look_again_at_unread();
    // No more is kept while it is held than what the limits' quarter allows.
    void hold_memory(bool held);

    // Appends the lagtrap_mapping records of all processes, for a log that begins at `at_ns`, up to which the records given
    // to take() reach; those of watched programs first. How many were left out, for want of room.
    [[nodiscard]] std::uint64_t describe(std::uint64_t at_ns, RecordBuffer& records) const;

    [[nodiscard]] SpaceTotals totals() const;

  private:
    struct Space {
        Space(UnwindMemory& in_store, UserShares& in_room, Party of_user)
            : store(in_store), room(in_room), user(of_user) {}
        ~Space();
        Space(const Space&) = delete;
        Space& operator=(const Space&) = delete;

        UnwindMemory& store;
        UserShares& room;
        Party user;
        CodePieces pieces;
        std::uint64_t charged_bytes = 0;
        bool watched = false;
        bool changed = true;
        bool identified = false;
        bool outgrown = false;
        Clock::duration reading_pause{};  // until it may be read anew
        Clock::duration look_pause{};     // until files are looked at again, where that was held up
        Clock::time_point next_reading;
        Clock::time_point first_look;  // at files that are taken for known ones
        Clock::time_point next_identification;
        std::uint64_t generation = 0;  // of the modules, when it was written
        std::optional<lagtrap_unwind_space> place;
        std::vector<lagtrap_unwind_mapping> written;
    };
    // A space is shared by processes that were forked and changed nothing since.
    struct Process {
        std::shared_ptr<Space> space;
        std::shared_ptr<Space> published;  // the one that the kernel side has been told of
        std::uint32_t first_block = 0;     // and where it lay
        std::optional<Party> user;
        Clock::time_point next_look_at_user;
    };

    void add_mapping(const lagtrap_mapping& mapping);
    [[nodiscard]] CodePiece piece_of(const lagtrap_mapping& mapping);
    [[nodiscard]] std::shared_ptr<const ToldFile> told_file(const lagtrap_mapping& mapping);
    void put(Space& space, CodePiece piece);
    void charge(Space& space);
    void fork(const lagtrap_task_change& change);
    void exec(std::uint32_t pid);
    void end(std::uint32_t pid);
    [[nodiscard]] std::shared_ptr<Space> new_space(std::uint32_t pid);
    [[nodiscard]] Party party_of(const lagtrap_process& process) const;
    [[nodiscard]] Party user_of(std::uint32_t pid, Process& process) const;
    void refresh_user(std::uint32_t pid, Process& process, Clock::time_point now);
    void look_at_user(std::uint32_t pid, Process& process);
    [[nodiscard]] Space& own_space(std::uint32_t pid);
    [[nodiscard]] std::vector<NamedMapping> unidentified_of(std::uint32_t pid, Space& space, std::size_t most,
                                                            Clock::time_point now);
    void hurry_tables_of(const Space& space);
    void describe(std::uint32_t pid, const Space& space, std::uint64_t at_ns, UserShares& room,
                  RecordBuffer& records) const;
    [[nodiscard]] static std::uint64_t files_waiting_of(const Space& space);
    [[nodiscard]] std::vector<lagtrap_unwind_mapping> mappings_of(const Space& space);
    void write(Space& space);

    UnwindMemory& store_;
    CodeModules& modules_;
    FindUser find_user_;
    const SpaceLimits limits_;
    UserShares room_;  // outlives the spaces
    std::set<std::string> watched_;
    using Told = std::tuple<std::uint64_t, std::uint64_t, std::string, std::string>;
    std::map<Told, std::weak_ptr<const ToldFile>> told_files_;  // by what was told
    std::size_t told_files_swept_ = 0;
    std::unordered_map<std::uint32_t, Process> processes_;
    std::multiset<std::uint32_t> hurried_;  // processes
    std::set<std::uint32_t> scanned_;
    Clock::time_point next_reading_;  // of any
    bool changed_ = false;
    std::uint64_t generation_ = 0;
    SpaceTotals totals_;
};

// By /proc.
[[nodiscard]] std::optional<Party> find_user(std::uint32_t pid);

}  // namespace lagtrap::daemon
