#include "daemon/capture/code_rundown.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "trace/names/jitdump.hpp"
#include "trace/processes/address_spaces.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::int64_t clock_slack_ns = 1'000'000'000;

bool is_gone(const Error& error) {
    return error.kind == ErrorKind::NotFound || error.kind == ErrorKind::Vanished;
}

}  // namespace

void CodeRundown::take(const lagtrap_record* record) {
    if (record->type == LAGTRAP_RECORD_MAPPING) {
        take_mapping(*reinterpret_cast<const lagtrap_mapping*>(record));
    } else if (record->type == LAGTRAP_RECORD_EXIT) {
        const auto& change = *reinterpret_cast<const lagtrap_task_change*>(record);
        if (change.pid == change.tid) leave(change.pid, record->at_ns);
    } else if (record->type == LAGTRAP_RECORD_NAME) {
        const auto& name = *reinterpret_cast<const lagtrap_name*>(record);
        if (name.by_exec != 0) leave(name.pid, record->at_ns);
    }
}

void CodeRundown::take_mapping(const lagtrap_mapping& mapping) {
    const std::string_view path(reinterpret_cast<const char*>(&mapping + 1), mapping.path_bytes);
    const std::string_view build_id(reinterpret_cast<const char*>(mapping.build_id),
                                    mapping.build_id_bytes);
    const bool jitdump = trace::is_jitdump_path(path);
    if (!jitdump && !trace::is_run_time_memory(path, build_id)) return;
    Process* const process = follow(mapping.pid, mapping.header.at_ns);
    if (process == nullptr || !jitdump || process->jitdump.valid()) return;
    auto file = copier_.open_mapped(mapping);
    if (file) {
        process->jitdump = std::move(file).value();
    } else {
        count_failure(file.error());
    }
}

CodeRundown::Process* CodeRundown::follow(std::uint32_t pid, std::uint64_t at_ns) {
    if (const auto known = processes_.find(pid); known != processes_.end()) return &known->second;
    if (left_out_.contains(pid)) return nullptr;
    if (processes_.size() >= limits_.processes) {
        left_out_.insert(pid);
        ++counts_.processes_left_out;
        return nullptr;
    }
    auto followed = copier_.follow(pid);
    if (!followed) {
        count_failure(followed.error());
        return nullptr;
    }
    Process process{followed->facts, at_ns, std::move(followed->tmp), {}};
    if (followed->tmp_was_refused) ++counts_.files_refused;
    return &processes_.emplace(pid, std::move(process)).first->second;
}

void CodeRundown::leave(std::uint32_t pid, std::uint64_t at_ns) {
    left_out_.erase(pid);
    const auto known = processes_.find(pid);
    // Records of different CPUs arrive out of order, so this exit may belong to the previous
    // program.
    if (known == processes_.end() || at_ns < known->second.first_ns) return;
    copy_files(pid, known->second);
    processes_.erase(known);
}

void CodeRundown::finish() {
    for (auto& [pid, process] : processes_) copy_files(pid, process);
    processes_.clear();
    left_out_.clear();
}

void CodeRundown::copy_files(std::uint32_t pid, Process& process) {
    const std::uint64_t at_ns = monotonic_ns();
    if (process.jitdump.valid())
        copy(copier_.open_code_file(process.owner(pid), process.jitdump.get(), {}),
             {pid, at_ns, trace::CodeFileKind::Jitdump}, process);
    if (!process.tmp.valid()) return;
    const std::string map = "perf-" + std::to_string(process.facts.inner_pid) + ".map";
    copy(copier_.open_code_file(process.owner(pid), process.tmp.get(), map),
         {pid, at_ns, trace::CodeFileKind::PerfMap}, process);
}

void CodeRundown::count_failure(const Error& error) {
    if (error.kind == ErrorKind::Denied) ++counts_.files_refused;
    if (error.kind != ErrorKind::Denied && !is_gone(error)) ++counts_.files_failed;
}

void CodeRundown::copy(const Result<OpenedCodeFile>& file, const trace::CodeFileName& name,
                       const Process& process) {
    if (!file) return count_failure(file.error());
    const bool own = file->uid == process.facts.effective_uid || file->uid == 0;
    // A file that was last written before the process began belongs to another process with the
    // same number.
    if (!own || file->written_realtime_ns + clock_slack_ns < process.facts.started_realtime_ns) {
        ++counts_.files_refused;
        return;
    }
    const std::uint64_t limit_bytes =
        std::min(limits_.file_bytes, limits_.total_bytes - counts_.bytes);
    if (file->size_bytes > limit_bytes) ++counts_.files_cut;
    if (file->size_bytes == 0 || limit_bytes == 0) return;
    if (const auto written = write_copy(file->file.get(), limit_bytes, name, process)) {
        ++counts_.files;
        counts_.bytes += *written;
    } else {
        ++counts_.files_failed;
    }
}

Result<std::uint64_t> CodeRundown::write_copy(int from, std::uint64_t limit_bytes,
                                              const trace::CodeFileName& name,
                                              const Process& process) {
    const auto folder = directory_ / trace::code_directory_name;
    TRY(make_directories(folder, 0750));
    const auto path = folder / trace::to_text(name);
    TRY_ASSIGN(const UniqueFd to, open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0640));
    auto copied = copier_.copy(process.owner(name.pid), from, to.get(), limit_bytes);
    if (!copied) ::unlink(path.c_str());
    return copied;
}

}  // namespace lagtrap::daemon
