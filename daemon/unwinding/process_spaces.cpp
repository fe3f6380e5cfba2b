#include "daemon/unwinding/process_spaces.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto min_look_pause = 1s;
constexpr auto max_look_pause = 64s;
// Files assumed to be known ones are inspected after this time. Most short-lived processes are gone
// by then.
constexpr auto first_file_look = 50ms;
// Reading processes again takes at most a twentieth of the time, however many there are.
constexpr int reading_share = 20;
constexpr std::uint64_t held_parts = 4;

// Memory that a process itself made executable. "[vdso]", "[uprobes]" etc. belong to the kernel.
bool is_runtime_code(const lagtrap_mapping& mapping) {
    const std::string_view path = path_of(mapping);
    return mapping.inode == 0 && mapping.build_id_bytes == 0 &&
           (!path.starts_with('[') || path.starts_with("[anon") || path == "[heap]" ||
            path == "[stack]");
}

// A later attempt may succeed.
bool is_passing(const Error& error) {
    return error.kind == ErrorKind::Busy || error.kind == ErrorKind::Timeout;
}

std::chrono::steady_clock::duration longer(std::chrono::steady_clock::duration pause) {
    return std::clamp<std::chrono::steady_clock::duration>(pause * 2, min_look_pause,
                                                           max_look_pause);
}

}  // namespace

ProcessSpaces::ProcessSpaces(UnwindMemory& store, CodeModules& modules,
                             ProcessTable::FindUser find_user, SpaceLimits limits)
    : modules_(modules),
      limits_(limits),
      processes_(store, std::move(find_user), limits.total_bytes) {}

void ProcessSpaces::set_watched(std::set<std::string> paths) {
    watched_ = std::move(paths);
    for (auto& [pid, process] : processes_.all()) {
        if (!process.space) continue;
        const auto& pieces = process.space->pieces.all();
        process.space->watched =
            std::any_of(pieces.begin(), pieces.end(), [this](const auto& piece) {
                return piece.second.file && watched_.contains(piece.second.file->path);
            });
    }
}

void ProcessSpaces::add_watched() {
    for (const auto& [pid, process] : processes_.all()) {
        if (!process.space || !process.space->watched) continue;
        for (const auto& [start, piece] : process.space->pieces.all())
            if (piece.module) modules_.add_watched(piece.module);
    }
}

void ProcessSpaces::prioritize(std::uint32_t pid) {
    prioritized_.insert(pid);
    changed_ = true;
    if (const auto* const process = processes_.find(pid)) prioritize_tables_of(*process->space);
}

void ProcessSpaces::forget_priority(std::uint32_t pid) {
    if (const auto one = prioritized_.find(pid); one != prioritized_.end()) prioritized_.erase(one);
}

void ProcessSpaces::prioritize_tables_of(const CodeSpace& space) {
    for (const auto& [start, piece] : space.pieces.all())
        if (piece.module) modules_.prioritize(piece.module, space.user);
}

std::optional<std::size_t> ProcessSpaces::files_to_come(std::uint32_t pid) const {
    const Process* const process = processes_.find(pid);
    if (process == nullptr) return std::nullopt;
    const CodeSpace& space = *process->space;
    std::set<const void*> waiting;
    for (const auto& [start, piece] : space.pieces.all()) {
        const bool comes =
            !piece.identified || (piece.module && piece.module->state == ModuleState::Waiting);
        if (piece.file && comes) waiting.insert(piece.file.get());
    }
    const bool reported = !space.changed && space.generation == modules_.generation() &&
                          process->published == process->space;
    return waiting.empty() && !reported ? 1 : waiting.size();
}

void ProcessSpaces::take(const lagtrap_record* record) {
    changed_ = true;
    switch (record->type) {
        case LAGTRAP_RECORD_MAPPING:
            add_mapping(*reinterpret_cast<const lagtrap_mapping*>(record));
            break;
        case LAGTRAP_RECORD_FORK:
            processes_.fork(*reinterpret_cast<const lagtrap_task_change*>(record));
            break;
        case LAGTRAP_RECORD_EXIT: {
            const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
            if (change.pid == change.tid) processes_.end(change.pid);
            break;
        }
        case LAGTRAP_RECORD_NAME: {
            const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
            if (name.by_exec != 0) processes_.exec(name.pid);
            break;
        }
        case LAGTRAP_RECORD_PROCESS: {
            const auto& process = *reinterpret_cast<const lagtrap_process*>(record);
            processes_.note_user(process.pid);
            scanned_.insert(process.pid);
            break;
        }
        default: break;
    }
}

void ProcessSpaces::take(const InspectedProcess& process) {
    Party user = unknown_party;
    process.records.for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_PROCESS)
            user = processes_.user_now(reinterpret_cast<const lagtrap_process*>(record)->pid);
        take(record);
    });
    if (process.mappings_left_out > 0)
        processes_.room().count_left_out(user, process.mappings_left_out);
}

void ProcessSpaces::begin_scan() {
    scanned_.clear();
    processes_.begin_anew();
}

void ProcessSpaces::end_scan() {
    std::vector<std::uint32_t> gone;
    for (const auto& [pid, process] : processes_.all())
        if (!scanned_.contains(pid)) gone.push_back(pid);
    for (const std::uint32_t pid : gone) processes_.end(pid);
    scanned_.clear();
}

CodePiece ProcessSpaces::piece_of(const lagtrap_mapping& mapping) {
    CodePiece piece;
    piece.start = mapping.start;
    piece.end = mapping.start + mapping.length;
    piece.file_offset = mapping.file_offset;
    if (is_runtime_code(mapping)) return piece;
    piece.kind = PieceKind::File;
    piece.file = reported_files_.file_of(mapping);
    piece.module = modules_.module_reported(piece.file->key());
    return piece;
}

void ProcessSpaces::put(CodeSpace& space, CodePiece piece) {
    const bool watched = piece.file && watched_.contains(piece.file->path);
    if (space.put(std::move(piece), limits_.pieces) && watched) space.watched = true;
}

void ProcessSpaces::add_mapping(const lagtrap_mapping& mapping) {
    const std::uint64_t end = mapping.start + mapping.length;
    if (end <= mapping.start || end >> 63) return;
    CodePiece piece = piece_of(mapping);
    const Process* const known = processes_.find(mapping.pid);
    if (known != nullptr && known->space->pieces.covers(piece)) return;
    put(processes_.own_space(mapping.pid), std::move(piece));
}

std::vector<NamedMapping> ProcessSpaces::unidentified_of(std::uint32_t pid, CodeSpace& space,
                                                         std::size_t most, Clock::time_point now) {
    if (space.first_look == Clock::time_point()) space.first_look = now + first_file_look;
    const bool is_young = now < space.first_look && !prioritized_.contains(pid);
    std::vector<NamedMapping> found;
    for (auto& [start, piece] : space.pieces.all()) {
        if (piece.identified || !piece.file) continue;
        if (!piece.file->path.starts_with('/')) {
            piece.module = modules_.module_of_kernel(piece.file->path);
            piece.identified = true;
            continue;
        }
        if (found.size() >= most) return found;
        if (piece.module && is_young) continue;
        found.push_back({piece.mapping_in(pid), piece.file->path});
    }
    space.identified = found.empty() && !is_young;
    return found;
}

ProcessSpaces::Unidentified ProcessSpaces::unidentified(std::size_t most, Clock::time_point now) {
    Unidentified all;
    if (!changed_) return all;
    std::set<const CodeSpace*> seen;
    const auto look_at = [&](std::uint32_t pid, Process& process) {
        if (process.space && process.space->changed) processes_.refresh_user(pid, process, now);
        if (!process.space || process.space->identified || now < process.space->next_identification)
            return;
        if (!seen.insert(process.space.get()).second) return;
        auto found = unidentified_of(pid, *process.space, most, now);
        most -= found.size();
        if (!found.empty()) all.push_back(std::move(found));
    };
    for (const std::uint32_t pid : prioritized_)
        if (Process* const process = most > 0 ? processes_.find(pid) : nullptr)
            look_at(pid, *process);
    for (auto& [pid, process] : processes_.all()) {
        if (most == 0) break;
        look_at(pid, process);
    }
    return all;
}

void ProcessSpaces::identify(const std::vector<NamedMapping>& mappings,
                             const std::vector<Result<CodeFileIdentity>>& identities,
                             Clock::time_point now) {
    if (mappings.empty()) return;
    const std::uint32_t pid = mappings.front().mapping.pid;
    Process* const process = processes_.find(pid);
    if (process == nullptr) return;
    CodeSpace& space = *process->space;
    space.changed = changed_ = true;
    bool all_known = true;
    for (std::size_t i = 0; i < std::min(mappings.size(), identities.size()); ++i) {
        const auto place = space.pieces.all().find(mappings[i].mapping.start);
        if (place == space.pieces.all().end() || place->second.identified || !place->second.file)
            continue;
        CodePiece& piece = place->second;
        if (!identities[i] && is_passing(identities[i].error())) {
            all_known = false;
            continue;
        }
        piece.identified = true;
        piece.module = identities[i] ? modules_.module_of(*identities[i], mappings[i],
                                                          {space.user, space.watched})
                                     : nullptr;
        if (identities[i])
            modules_.note_reported(piece.file->key(), piece.module);
        else
            modules_.count_unreadable(mappings[i].path, identities[i].error(), space.user);
    }
    if (prioritized_.contains(pid)) prioritize_tables_of(space);
    space.look_pause = all_known ? Clock::duration{} : longer(space.look_pause);
    space.next_identification = now + space.look_pause;
}

void ProcessSpaces::note_unread(std::uint32_t pid) {
    scanned_.insert(pid);
    processes_.own_space(pid).outgrown = true;
}

std::optional<std::uint32_t> ProcessSpaces::next_outgrown(Clock::time_point now) const {
    if (now < next_reading_) return std::nullopt;
    for (const auto& [pid, process] : processes_.all())
        if (process.space && process.space->outgrown && now >= process.space->next_reading)
            return pid;
    return std::nullopt;
}

// Keeps what is known about the files of pieces that still exist.
bool ProcessSpaces::read_anew(std::uint32_t pid, const std::optional<InspectedProcess>& process,
                              Clock::duration cost, Clock::time_point now) {
    next_reading_ = now + cost * reading_share;
    Process* const known = processes_.find(pid);
    if (known == nullptr) return false;
    CodeSpace& space = *known->space;
    processes_.look_at_user(pid, *known);
    ++totals_.read_anew;
    space.outgrown = false;
    CodePieces before = process ? space.take_pieces() : CodePieces();
    if (process) {
        changed_ = true;
        if (process->mappings_left_out > 0)
            processes_.room().count_left_out(space.user, process->mappings_left_out);
        process->records.for_each([&](const lagtrap_record* record) {
            if (record->type != LAGTRAP_RECORD_MAPPING) return;
            CodePiece piece = piece_of(*reinterpret_cast<const lagtrap_mapping*>(record));
            const auto old = before.all().find(piece.start);
            const bool is_known = old != before.all().end() && old->second.end == piece.end &&
                                  old->second.kind == piece.kind &&
                                  old->second.file_offset == piece.file_offset &&
                                  (!piece.file || old->second.file->path == piece.file->path);
            put(space, is_known ? old->second : std::move(piece));
        });
    }
    // If it does not get much smaller, it is read less and less often.
    const bool helped =
        process && space.pieces.all().size() <= limits_.pieces / 2 && !space.outgrown;
    space.outgrown = !process;
    space.reading_pause = helped ? Clock::duration(min_look_pause) : longer(space.reading_pause);
    space.next_reading = now + space.reading_pause;
    return true;
}

void ProcessSpaces::publish() {
    if (!changed_ && generation_ == modules_.generation()) return;
    changed_ = false;
    generation_ = modules_.generation();
    for (auto& [pid, process] : processes_.all()) {
        if (!process.space) continue;
        CodeSpace& space = *process.space;
        if ((space.changed || space.generation != generation_) &&
            !space.write(generation_, totals_.mappings_left_out)) {
            ++totals_.spaces_without_room;
            changed_ = true;  // try again later
        }
        if (!space.identified) changed_ = true;
        if (!processes_.publish(pid, process)) ++totals_.processes_left_out;
    }
}

void ProcessSpaces::note_users() {
    modules_.forget_users();
    for (const auto& [pid, process] : processes_.all()) {
        if (!process.space) continue;
        for (const auto& [start, piece] : process.space->pieces.all())
            if (piece.module)
                piece.module->users.insert(process.user.value_or(process.space->user));
    }
}

void ProcessSpaces::look_again_at_unread() {
    for (auto& [pid, process] : processes_.all()) {
        if (!process.space) continue;
        CodeSpace& space = *process.space;
        for (auto& [start, piece] : space.pieces.all()) {
            if (!piece.module || !piece.module->unread()) continue;
            piece.identified = space.identified = false;
            changed_ = true;
        }
    }
}

void ProcessSpaces::hold_memory(bool held) {
    processes_.room().set_total(held ? limits_.total_bytes / held_parts : limits_.total_bytes);
}

std::uint64_t ProcessSpaces::describe(std::uint64_t at_ns, RecordBuffer& records) const {
    UserShares room(limits_.described_bytes);
    for (const bool watched : {true, false})
        for (const auto& [pid, process] : processes_.all())
            if (process.space && process.space->watched == watched)
                process.space->describe(pid, at_ns, room, records);
    std::uint64_t left_out = 0;
    for (const auto& [user, count] : room.left_out()) left_out += count;
    return left_out;
}

SpaceTotals ProcessSpaces::totals() const {
    SpaceTotals totals = totals_;
    totals.processes = processes_.all().size();
    std::set<const CodeSpace*> spaces;
    for (const auto& [pid, process] : processes_.all())
        if (process.space) spaces.insert(process.space.get());
    for (const CodeSpace* const space : spaces) totals.files_waiting += space->files_waiting();
    totals.spaces = spaces.size();
    totals.bytes = processes_.room().used_bytes();
    totals.limit_bytes = processes_.room().total_bytes();
    totals.pieces_left_out = processes_.room().left_out();
    return totals;
}

}  // namespace lagtrap::daemon
