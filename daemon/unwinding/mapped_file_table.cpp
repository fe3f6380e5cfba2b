#include "daemon/unwinding/mapped_file_table.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/mapped_files.hpp"
#include "daemon/processes/mapping_build_id.hpp"
#include "daemon/processes/record_buffer.hpp"

namespace lagtrap::daemon {
namespace {

// /proc/PID/maps marks deleted files, the kernel's events do not.
std::string_view without_deleted_mark(std::string_view path) {
    return path.ends_with(deleted_mark) ? path.substr(0, path.size() - deleted_mark.size()) : path;
}

bool same_file(const lagtrap_mapping& a, const lagtrap_mapping& b) {
    if (a.inode != 0 && b.inode != 0) return a.inode == b.inode && a.device == b.device;
    return a.build_id_bytes == b.build_id_bytes &&
           std::memcmp(a.build_id, b.build_id, a.build_id_bytes) == 0;
}

}  // namespace

// Program, '\0', command line, '\0', control group and, optionally, '\0' and the other name
// (bpf/records.h).
std::optional<StartedBeside> started_beside(std::string_view texts) {
    const std::string_view program = texts.substr(0, texts.find('\0'));
    for (int skipped = 0; skipped < 3; ++skipped) {
        const std::size_t end = texts.find('\0');
        if (end == std::string_view::npos) return std::nullopt;
        texts.remove_prefix(end + 1);
    }
    const std::string_view folder = program.substr(0, program.rfind('/') + 1);
    if (folder.empty() || !texts.starts_with(folder) ||
        texts.find('/', folder.size()) != std::string_view::npos)
        return std::nullopt;
    return StartedBeside{std::string(program), std::string(texts)};
}

bool MappedFileTable::want(const std::set<std::string>& names) {
    const bool some_new = names_.set(names);
    if (names.empty()) forget_processes();
    return some_new;
}

void MappedFileTable::begin_anew() {
    forget_processes();
    note_change();
}

void MappedFileTable::note_program(const lagtrap_process& process) {
    const std::string_view texts(reinterpret_cast<const char*>(&process + 1), process.text_bytes);
    const auto started = started_beside(texts);
    if (!started || !names_.has_file_name(started->started_as)) return;
    start(process.pid, {started->program, started->started_as});
}

void MappedFileTable::add(const lagtrap_mapping& mapping) {
    const std::string_view path = without_deleted_mark(path_of(mapping));
    std::string started_as;
    bool perhaps = false;
    if (const auto starting = starting_.find(mapping.pid); starting != starting_.end()) {
        perhaps = starting->second.program.empty();
        if (starting->second.program == path) started_as = starting->second.started_as;
        forget_start(mapping.pid);
    }
    if (!perhaps && started_as.empty() && !names_.mean(mapping, path)) return;
    Process* const process = process_of(mapping.pid);
    if (!process) return;
    Files& files = process->files;
    if (std::any_of(files.begin(), files.end(), [&](const auto& known) {
            return known->path == path && same_file(known->mapping, mapping);
        }))
        return;
    File file{++last_id_, mapping, std::string(path), started_as, perhaps, process->party};
    if (files.size() >= limits_.files_of_process) return room_.count_left_out(process->party, 1);
    if (!room_.take(process->party, file.cost_bytes())) return;
    files.push_back(std::make_shared<const File>(std::move(file)));
    note_change();
}

// A forked process has the mappings of its parent. Threads have none of their own.
void MappedFileTable::fork(const lagtrap_task_change& change) {
    if (change.pid == change.parent_pid) return;
    const auto parent = processes_.find(change.parent_pid);
    if (parent == processes_.end()) return;
    const Party party = parent->second.party;
    if (processes_.size() >= limits_.processes) return room_.count_left_out(party, 1);
    if (!room_.take(party, process_bytes)) return;
    forget(change.pid);
    processes_[change.pid] = parent->second;
    note_change();
}

// nullptr if there is no room; counted.
MappedFileTable::Process* MappedFileTable::process_of(std::uint32_t pid) {
    if (const auto known = processes_.find(pid); known != processes_.end()) return &known->second;
    const Party party = find_party_(pid).value_or(unknown_party);
    if (processes_.size() >= limits_.processes) {
        room_.count_left_out(party, 1);
        return nullptr;
    }
    return room_.take(party, process_bytes) ? &(processes_[pid] = {party, {}}) : nullptr;
}

void MappedFileTable::start(std::uint32_t pid, Starting starting) {
    forget_start(pid);
    starting.party = find_party_(pid).value_or(unknown_party);
    if (room_.take(starting.party, starting.cost_bytes())) starting_[pid] = std::move(starting);
}

void MappedFileTable::forget_start(std::uint32_t pid) {
    const auto found = starting_.find(pid);
    if (found == starting_.end()) return;
    room_.give_back(found->second.party, found->second.cost_bytes());
    starting_.erase(found);
}

void MappedFileTable::let_go(Process& process) {
    for (const auto& file : process.files)
        if (file.use_count() == 1) room_.give_back(file->party, file->cost_bytes());
    process.files.clear();
    room_.give_back(process.party, process_bytes);
}

void MappedFileTable::forget_processes() {
    for (auto& [pid, process] : processes_) let_go(process);
    processes_.clear();
    for (const auto& [pid, starting] : starting_)
        room_.give_back(starting.party, starting.cost_bytes());
    starting_.clear();
}

void MappedFileTable::forget(std::uint32_t pid) {
    const auto found = processes_.find(pid);
    if (found == processes_.end()) return;
    let_go(found->second);
    processes_.erase(found);
    note_change();
}

void MappedFileTable::take(const lagtrap_record* record) {
    switch (record->type) {
        case LAGTRAP_RECORD_MAPPING: return add(*reinterpret_cast<const lagtrap_mapping*>(record));
        case LAGTRAP_RECORD_FORK:
            return fork(*reinterpret_cast<const lagtrap_task_change*>(record));
        case LAGTRAP_RECORD_EXIT: {
            const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
            if (change.pid != change.tid) return;
            forget(change.pid);
            forget_start(change.pid);
            return;
        }
        case LAGTRAP_RECORD_NAME: {
            const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
            if (name.by_exec == 0) return;
            forget(name.pid);
            forget_start(name.pid);
            const std::string_view comm(name.comm, ::strnlen(name.comm, sizeof(name.comm)));
            if (names_.may_be_of(comm)) start(name.pid, {});
            return;
        }
        case LAGTRAP_RECORD_PROCESS:
            return note_program(*reinterpret_cast<const lagtrap_process*>(record));
        default: return;
    }
}

std::vector<MappedFileTable::MappedFile> MappedFileTable::all() const {
    std::map<std::uint64_t, MappedFile> mapped_files;
    for (const auto& [pid, process] : processes_)
        for (const auto& file : process.files) {
            MappedFile& mapped_file = mapped_files[file->id];
            if (mapped_file.pids.empty()) {
                mapped_file.id = file->id;
                mapped_file.mapping = {file->mapping, file->path};
                mapped_file.mapping.mapping.pid = pid;
                mapped_file.build_id = build_id_of(file->mapping);
                mapped_file.started_as = file->started_as;
                mapped_file.perhaps_started_as = file->perhaps_started_as;
            }
            mapped_file.pids.push_back(pid);
        }
    std::vector<MappedFile> found;
    found.reserve(mapped_files.size());
    for (auto& [id, mapped_file] : mapped_files) found.push_back(std::move(mapped_file));
    return found;
}

}  // namespace lagtrap::daemon
