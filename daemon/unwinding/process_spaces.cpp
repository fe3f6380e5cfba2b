#include "daemon/unwinding/process_spaces.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "daemon/processes/process_party.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto min_look_pause = 1s;
constexpr auto max_look_pause = 64s;
// a process that exits before then belongs to its parent's user
constexpr auto first_user_look = 100ms;
constexpr auto user_lifetime = 10s;
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

std::optional<Party> find_user(std::uint32_t pid) {
    const auto user = read_party("/proc/" + std::to_string(pid));
    return user ? std::optional(*user) : std::nullopt;
}

ProcessSpaces::ProcessSpaces(UnwindMemory& store, CodeModules& modules, FindUser find_user,
                             SpaceLimits limits)
    : store_(store),
      modules_(modules),
      find_user_(std::move(find_user)),
      limits_(limits),
      room_(limits.total_bytes) {}

void ProcessSpaces::set_watched(std::set<std::string> paths) {
    watched_ = std::move(paths);
    for (auto& [pid, process] : processes_) {
        if (!process.space) continue;
        const auto& pieces = process.space->pieces.all();
        process.space->watched =
            std::any_of(pieces.begin(), pieces.end(), [this](const auto& piece) {
                return piece.second.file && watched_.contains(piece.second.file->path);
            });
    }
}

void ProcessSpaces::add_watched() {
    for (const auto& [pid, process] : processes_) {
        if (!process.space || !process.space->watched) continue;
        for (const auto& [start, piece] : process.space->pieces.all())
            if (piece.module) modules_.add_watched(piece.module);
    }
}

void ProcessSpaces::prioritize(std::uint32_t pid) {
    prioritized_.insert(pid);
    changed_ = true;
    if (const auto found = processes_.find(pid); found != processes_.end() && found->second.space)
        prioritize_tables_of(*found->second.space);
}

void ProcessSpaces::forget_priority(std::uint32_t pid) {
    if (const auto one = prioritized_.find(pid); one != prioritized_.end()) prioritized_.erase(one);
}

void ProcessSpaces::prioritize_tables_of(const CodeSpace& space) {
    for (const auto& [start, piece] : space.pieces.all())
        if (piece.module) modules_.prioritize(piece.module, space.user);
}

std::optional<std::size_t> ProcessSpaces::files_to_come(std::uint32_t pid) const {
    const auto found = processes_.find(pid);
    if (found == processes_.end() || !found->second.space) return std::nullopt;
    const Process& process = found->second;
    const CodeSpace& space = *process.space;
    std::set<const void*> waiting;
    for (const auto& [start, piece] : space.pieces.all()) {
        const bool comes =
            !piece.identified || (piece.module && piece.module->state == ModuleState::Waiting);
        if (piece.file && comes) waiting.insert(piece.file.get());
    }
    const bool reported = !space.changed && space.generation == modules_.generation() &&
                          process.published == process.space;
    return waiting.empty() && !reported ? 1 : waiting.size();
}

void ProcessSpaces::take(const lagtrap_record* record) {
    changed_ = true;
    switch (record->type) {
        case LAGTRAP_RECORD_MAPPING:
            add_mapping(*reinterpret_cast<const lagtrap_mapping*>(record));
            break;
        case LAGTRAP_RECORD_FORK:
            fork(*reinterpret_cast<const lagtrap_task_change*>(record));
            break;
        case LAGTRAP_RECORD_EXIT: {
            const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
            if (change.pid == change.tid) end(change.pid);
            break;
        }
        case LAGTRAP_RECORD_NAME: {
            const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
            if (name.by_exec != 0) exec(name.pid);
            break;
        }
        case LAGTRAP_RECORD_PROCESS: {
            const auto& process = *reinterpret_cast<const lagtrap_process*>(record);
            processes_[process.pid].user = party_of(process);
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
            user = party_of(*reinterpret_cast<const lagtrap_process*>(record));
        take(record);
    });
    if (process.mappings_left_out > 0) room_.count_left_out(user, process.mappings_left_out);
}

void ProcessSpaces::begin_scan() {
    scanned_.clear();
    store_.drop_all_processes();
    for (auto& [pid, process] : processes_)
        process = Process{new_space(pid), nullptr, 0, process.user, {}};
}

void ProcessSpaces::end_scan() {
    std::vector<std::uint32_t> gone;
    for (const auto& [pid, process] : processes_)
        if (!scanned_.contains(pid)) gone.push_back(pid);
    for (const std::uint32_t pid : gone) end(pid);
    scanned_.clear();
}

Party ProcessSpaces::party_of(const lagtrap_process& process) const {
    return find_user_(process.pid).value_or(unknown_party);
}

Party ProcessSpaces::user_of(std::uint32_t pid, Process& process) const {
    if (!process.user) process.user = find_user_(pid);
    return process.user.value_or(unknown_party);
}

std::shared_ptr<CodeSpace> ProcessSpaces::new_space(std::uint32_t pid) {
    return std::make_shared<CodeSpace>(store_, room_, user_of(pid, processes_[pid]));
}

// The space of a process, for changes: a copy if it is shared. If there is no room for a copy, the
// process starts with an empty space until it is read again.
CodeSpace& ProcessSpaces::own_space(std::uint32_t pid) {
    Process& process = processes_[pid];
    const long own_uses = process.published == process.space ? 2 : 1;
    if (process.space && process.space.use_count() == own_uses) return *process.space;
    auto copy = new_space(pid);
    if (process.space) copy->copy(*process.space);
    process.space = std::move(copy);
    return *process.space;
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
    const auto known = processes_.find(mapping.pid);
    if (known != processes_.end() && known->second.space &&
        known->second.space->pieces.covers(piece))
        return;
    put(own_space(mapping.pid), std::move(piece));
}

void ProcessSpaces::fork(const lagtrap_task_change& change) {
    if (change.pid == change.parent_pid || change.pid != change.tid) return;  // a thread
    const auto parent = processes_.find(change.parent_pid);
    auto space = parent != processes_.end() ? parent->second.space : nullptr;
    const auto user = parent != processes_.end() ? parent->second.user : std::nullopt;
    Process& child = processes_[change.pid];
    child.user = user;
    child.space = space ? std::move(space) : new_space(change.pid);
}

// The owner is final by now, because programs that start others for a user change to that user
// before exec.
void ProcessSpaces::exec(std::uint32_t pid) {
    Process& process = processes_[pid];
    if (const auto user = find_user_(pid)) process.user = user;
    process.space = new_space(pid);
}

void ProcessSpaces::end(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    // during a capture, the kernel side knows children before they are published here
    store_.drop_process(pid);
    processes_.erase(found);
}

// Programs that start as root may change to another user.
void ProcessSpaces::refresh_user(std::uint32_t pid, Process& process, Clock::time_point now) {
    if (now < process.next_look_at_user) return;
    const bool is_new = process.next_look_at_user == Clock::time_point();
    process.next_look_at_user = now + (is_new ? first_user_look : user_lifetime);
    if (!is_new) look_at_user(pid, process);
}

void ProcessSpaces::look_at_user(std::uint32_t pid, Process& process) {
    const auto user = find_user_(pid);
    if (!user) return;
    process.user = user;
    process.space->change_user(*user);
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
        if (process.space && process.space->changed) refresh_user(pid, process, now);
        if (!process.space || process.space->identified || now < process.space->next_identification)
            return;
        if (!seen.insert(process.space.get()).second) return;
        auto found = unidentified_of(pid, *process.space, most, now);
        most -= found.size();
        if (!found.empty()) all.push_back(std::move(found));
    };
    for (const std::uint32_t pid : prioritized_)
        if (const auto found = processes_.find(pid); most > 0 && found != processes_.end())
            look_at(pid, found->second);
    for (auto& [pid, process] : processes_) {
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
    const auto found = processes_.find(pid);
    if (found == processes_.end() || !found->second.space) return;
    CodeSpace& space = *found->second.space;
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
    own_space(pid).outgrown = true;
}

std::optional<std::uint32_t> ProcessSpaces::next_outgrown(Clock::time_point now) const {
    if (now < next_reading_) return std::nullopt;
    for (const auto& [pid, process] : processes_)
        if (process.space && process.space->outgrown && now >= process.space->next_reading)
            return pid;
    return std::nullopt;
}

// Keeps what is known about the files of pieces that still exist.
bool ProcessSpaces::read_anew(std::uint32_t pid, const std::optional<InspectedProcess>& process,
                              Clock::duration cost, Clock::time_point now) {
    next_reading_ = now + cost * reading_share;
    const auto found = processes_.find(pid);
    if (found == processes_.end() || !found->second.space) return false;
    CodeSpace& space = *found->second.space;
    look_at_user(pid, found->second);
    ++totals_.read_anew;
    space.outgrown = false;
    CodePieces before = process ? space.take_pieces() : CodePieces();
    if (process) {
        changed_ = true;
        if (process->mappings_left_out > 0)
            room_.count_left_out(space.user, process->mappings_left_out);
        process->records.for_each([&](const lagtrap_record* record) {
            if (record->type != LAGTRAP_RECORD_MAPPING) return;
            CodePiece piece = piece_of(*reinterpret_cast<const lagtrap_mapping*>(record));
            const auto old = before.all().find(piece.start);
            const bool known = old != before.all().end() && old->second.end == piece.end &&
                               old->second.kind == piece.kind &&
                               old->second.file_offset == piece.file_offset &&
                               (!piece.file || old->second.file->path == piece.file->path);
            put(space, known ? old->second : std::move(piece));
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
    for (auto& [pid, process] : processes_) {
        if (!process.space) continue;
        CodeSpace& space = *process.space;
        if ((space.changed || space.generation != generation_) &&
            !space.write(generation_, totals_.mappings_left_out)) {
            ++totals_.spaces_without_room;
            changed_ = true;  // try again later
        }
        if (!space.identified) changed_ = true;
        if (!space.place) continue;
        const std::uint32_t first_block = space.place->first_block;
        if (process.published == process.space && process.first_block == first_block) continue;
        if (!store_.set_process(pid, *space.place)) ++totals_.processes_left_out;
        process.published = process.space;
        process.first_block = first_block;
    }
}

void ProcessSpaces::note_users() {
    modules_.forget_users();
    for (const auto& [pid, process] : processes_) {
        if (!process.space) continue;
        for (const auto& [start, piece] : process.space->pieces.all())
            if (piece.module)
                piece.module->users.insert(process.user.value_or(process.space->user));
    }
}

void ProcessSpaces::look_again_at_unread() {
    for (auto& [pid, process] : processes_) {
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
    room_.set_total(held ? limits_.total_bytes / held_parts : limits_.total_bytes);
}

std::uint64_t ProcessSpaces::describe(std::uint64_t at_ns, RecordBuffer& records) const {
    UserShares room(limits_.described_bytes);
    for (const bool watched : {true, false})
        for (const auto& [pid, process] : processes_)
            if (process.space && process.space->watched == watched)
                process.space->describe(pid, at_ns, room, records);
    std::uint64_t left_out = 0;
    for (const auto& [user, count] : room.left_out()) left_out += count;
    return left_out;
}

SpaceTotals ProcessSpaces::totals() const {
    SpaceTotals totals = totals_;
    totals.processes = processes_.size();
    std::set<const CodeSpace*> spaces;
    for (const auto& [pid, process] : processes_)
        if (process.space) spaces.insert(process.space.get());
    for (const CodeSpace* const space : spaces) totals.files_waiting += space->files_waiting();
    totals.spaces = spaces.size();
    totals.bytes = room_.used_bytes();
    totals.limit_bytes = room_.total_bytes();
    totals.pieces_left_out = room_.left_out();
    return totals;
}

}  // namespace lagtrap::daemon
