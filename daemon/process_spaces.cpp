#include "daemon/process_spaces.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "daemon/mapped_file.hpp"

namespace lagtrap::daemon {
namespace {

// As perf's records name memory that no file stands behind.
constexpr std::string_view runtime_code_path = "//anon";

std::string path_of(const lagtrap_mapping& mapping) {
    return {reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes};
}

// Memory that a process made executable by itself; "[vdso]", "[uprobes]" and the like are the kernel's.
bool is_runtime_code(const lagtrap_mapping& mapping) {
    const std::string path = path_of(mapping);
    return mapping.inode == 0 && mapping.build_id_bytes == 0 &&
           (!path.starts_with('[') || path.starts_with("[anon") || path == "[heap]" || path == "[stack]");
}

bool same(const std::vector<lagtrap_unwind_mapping>& a, const std::vector<lagtrap_unwind_mapping>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0);
}

}  // namespace

ProcessSpaces::Space::~Space() {
    if (place) store.drop_space(*place);
}

void ProcessSpaces::take(const lagtrap_record* record) {
    changed_ = true;
    switch (record->type) {
        case LAGTRAP_RECORD_MAPPING: add_mapping(*reinterpret_cast<const lagtrap_mapping*>(record)); break;
        case LAGTRAP_RECORD_FORK: fork(*reinterpret_cast<const lagtrap_task_change*>(record)); break;
        case LAGTRAP_RECORD_EXIT: {
            const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
            if (change.pid == change.tid) end(change.pid);
            break;
        }
        case LAGTRAP_RECORD_NAME: {
            const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
            if (name.by_exec == 0) break;
            processes_[name.pid].space = std::make_shared<Space>(store_);
            break;
        }
        default: break;
    }
}

void ProcessSpaces::start_over(const RecordBuffer& scan) {
    std::set<std::uint32_t> alive;
    scan.for_each([&](const lagtrap_record* record) {
        if (record->type == LAGTRAP_RECORD_PROCESS) alive.insert(reinterpret_cast<const lagtrap_process*>(record)->pid);
    });
    std::vector<std::uint32_t> gone;
    store_.drop_all_processes();
    for (auto& [pid, process] : processes_) {
        process = Process{std::make_shared<Space>(store_), nullptr, 0};
        if (!alive.contains(pid)) gone.push_back(pid);
    }
    for (const std::uint32_t pid : gone) end(pid);
    scan.for_each([this](const lagtrap_record* record) { take(record); });
}

// The space of a process to be changed: a copy where it shares one.
ProcessSpaces::Space& ProcessSpaces::own_space(std::uint32_t pid) {
    Process& process = processes_[pid];
    const long own_uses = process.published == process.space ? 2 : 1;
    if (process.space && process.space.use_count() == own_uses) return *process.space;
    auto copy = std::make_shared<Space>(store_);
    if (process.space) copy->pieces = process.space->pieces;
    process.space = std::move(copy);
    return *process.space;
}

// What is mapped over a place takes what was there before off the map.
void ProcessSpaces::cut_out(Space& space, std::uint64_t start, std::uint64_t end) {
    auto place = space.pieces.lower_bound(start);
    if (place != space.pieces.begin() && std::prev(place)->second.end > start) --place;
    while (place != space.pieces.end() && place->second.start < end) {
        const Piece over = place->second;
        place = space.pieces.erase(place);
        if (over.start < start) {
            Piece before = over;
            before.end = start;
            space.pieces.emplace(before.start, std::move(before));
        }
        if (over.end > end) {
            Piece after = over;
            after.start = end;
            after.file_offset += end - over.start;
            space.pieces.emplace(after.start, std::move(after));
        }
    }
}

void ProcessSpaces::add_mapping(const lagtrap_mapping& mapping) {
    const std::uint64_t start = mapping.start;
    const std::uint64_t end = start + mapping.length;
    if (end <= start || end >> 63) return;
    Piece piece{start,   end,    mapping.file_offset, mapping.device, mapping.inode, PieceKind::RuntimeCode, false,
                nullptr, nullptr};
    if (is_runtime_code(mapping)) {
        // Compilers at run time make the same memory executable again and again.
        const auto known = processes_.find(mapping.pid);
        if (known != processes_.end() && known->second.space) {
            const auto& pieces = known->second.space->pieces;
            const auto after = pieces.upper_bound(start);
            const Piece* over = after == pieces.begin() ? nullptr : &std::prev(after)->second;
            if (over && end <= over->end && over->kind == PieceKind::RuntimeCode) return;
        }
    } else {
        piece.kind = PieceKind::File;
        piece.told = std::make_shared<const std::string>(reinterpret_cast<const char*>(&mapping),
                                                         sizeof(mapping) + mapping.path_bytes);
    }
    Space& space = own_space(mapping.pid);
    space.changed = true;
    cut_out(space, start, end);
    space.pieces.emplace(start, std::move(piece));
}

void ProcessSpaces::fork(const lagtrap_task_change& change) {
    if (change.pid == change.parent_pid || change.pid != change.tid) return;  // a thread
    const auto parent = processes_.find(change.parent_pid);
    auto space = parent != processes_.end() ? parent->second.space : nullptr;
    Process& child = processes_[change.pid];
    child.space = space ? std::move(space) : std::make_shared<Space>(store_);
}

void ProcessSpaces::end(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    store_.drop_process(pid);  // during a capture the kernel side knows children before they are published here
    processes_.erase(found);
}

void ProcessSpaces::resolve(Space& space, std::uint32_t pid) {
    for (auto& [start, piece] : space.pieces) {
        if (piece.resolved || !piece.told) continue;
        lagtrap_mapping mapping;
        std::memcpy(&mapping, piece.told->data(), sizeof(mapping));
        mapping.pid = pid;  // this one lives; the one that mapped it may not
        const std::string path = piece.told->substr(sizeof(mapping));
        piece.module = modules_.module_of(mapping, path);
        piece.resolved = true;
        if (piece.module && piece.module->path == path) piece.told.reset();
    }
}

std::vector<lagtrap_unwind_mapping> ProcessSpaces::mappings_of(const Space& space) {
    std::vector<lagtrap_unwind_mapping> mappings;
    for (const auto& [start, piece] : space.pieces) {
        lagtrap_unwind_mapping mapping{};
        mapping.start = piece.start;
        mapping.length = piece.end - piece.start;
        if (piece.kind == PieceKind::File) mapping.table = LAGTRAP_UNWIND_UNREADABLE_FILE;
        if (piece.module) mapping.table = piece.module->table;
        if (piece.module && piece.module->state == ModuleState::Ready)
            mapping.table_start = piece.module->table_start(piece.start, piece.file_offset);
        const bool joins = !mappings.empty() && piece.kind == PieceKind::RuntimeCode &&
                           mappings.back().table == LAGTRAP_UNWIND_RUNTIME_CODE &&
                           mappings.back().start + mappings.back().length == piece.start;
        if (joins) {
            mappings.back().length += mapping.length;
        } else if (mappings.size() < LAGTRAP_UNWIND_MAX_MAPPINGS) {
            mappings.push_back(mapping);
        } else {
            ++totals_.mappings_left_out;
        }
    }
    return mappings;
}

void ProcessSpaces::write(Space& space) {
    auto mappings = mappings_of(space);
    space.changed = false;
    space.generation = generation_;
    if (space.place && same(mappings, space.written)) return;
    const auto place = store_.add_space(mappings);
    if (!place) {
        ++totals_.spaces_without_room;
        space.changed = changed_ = true;  // to be tried again
        return;
    }
    if (space.place) store_.drop_space(*space.place);
    space.place = place;
    space.written = std::move(mappings);
}

void ProcessSpaces::publish() {
    if (!changed_ && generation_ == modules_.generation()) return;
    changed_ = false;
    generation_ = modules_.generation();
    for (auto& [pid, process] : processes_) {
        if (!process.space) continue;
        Space& space = *process.space;
        if (space.changed) resolve(space, pid);
        if (space.changed || space.generation != generation_) write(space);
        if (!space.place) continue;
        const std::uint32_t first_block = space.place->first_block;
        if (process.published == process.space && process.first_block == first_block) continue;
        if (!store_.set_process(pid, *space.place)) ++totals_.processes_left_out;
        process.published = process.space;
        process.first_block = first_block;
    }
}

void ProcessSpaces::describe(const Piece& piece, lagtrap_mapping mapping, RecordBuffer& records) {
    std::string_view path = piece.module ? std::string_view(piece.module->path) : runtime_code_path;
    if (piece.told) {
        lagtrap_mapping told;
        std::memcpy(&told, piece.told->data(), sizeof(told));
        std::copy(std::begin(told.build_id), std::end(told.build_id), mapping.build_id);
        mapping.build_id_bytes = told.build_id_bytes;
        path = std::string_view(*piece.told).substr(sizeof(told));
    }
    if (piece.module) set_build_id(mapping, piece.module->key);
    mapping.path_bytes = static_cast<std::uint16_t>(path.size());
    records.append(&mapping, sizeof(mapping), path);
}

void ProcessSpaces::describe(std::uint64_t at_ns, RecordBuffer& records) const {
    for (const auto& [pid, process] : processes_) {
        if (!process.space) continue;
        for (const auto& [start, piece] : process.space->pieces) {
            lagtrap_mapping mapping{};
            mapping.header = {0, LAGTRAP_RECORD_MAPPING, 0, at_ns};
            mapping.pid = pid;
            mapping.start = piece.start;
            mapping.length = piece.end - piece.start;
            mapping.file_offset = piece.file_offset;
            mapping.device = piece.device;
            mapping.inode = piece.inode;
            describe(piece, mapping, records);
        }
    }
}

SpaceTotals ProcessSpaces::totals() const {
    SpaceTotals totals = totals_;
    totals.processes = processes_.size();
    std::set<const Space*> spaces;
    for (const auto& [pid, process] : processes_)
        if (process.space) spaces.insert(process.space.get());
    totals.spaces = spaces.size();
    return totals;
}

}  // namespace lagtrap::daemon
