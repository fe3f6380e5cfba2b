#include "daemon/capture/code_rundown.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "core/clock.hpp"
#include "core/files.hpp"
#include "trace/names/jitdump.hpp"
#include "trace/processes/address_spaces.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::int64_t clock_slack_ns = 1'000'000'000;

std::string range_of(const lagtrap_mapping& mapping) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%llx-%llx", static_cast<unsigned long long>(mapping.start),
                  static_cast<unsigned long long>(mapping.start + mapping.length));
    return text.data();
}

bool is_gone(const Error& error) { return error.kind == ErrorKind::NotFound || error.kind == ErrorKind::Vanished; }

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
    const std::string_view build_id(reinterpret_cast<const char*>(mapping.build_id), mapping.build_id_bytes);
    const bool jitdump = trace::is_jitdump_path(path);
    if (!jitdump && !trace::is_run_time_memory(path, build_id)) return;
    Process* const process = follow(mapping.pid, mapping.header.at_ns);
    if (process == nullptr || !jitdump || process->jitdump.valid()) return;
    const auto folder = proc_root_ / std::to_string(mapping.pid);
    auto file = open_mapped_file(folder, range_of(mapping), mounts_);
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
    const auto folder = proc_root_ / std::to_string(pid);
    const auto facts = read_process_facts(folder);
    if (!facts) return nullptr;  // gone already
    Process process;
    process.facts = *facts;
    process.first_ns = at_ns;
    auto tmp = open_own_tmp(folder, mounts_);
    // Where there is no /tmp there is no map; one that is not looked into may have held it.
    if (tmp)
        process.tmp = std::move(tmp).value();
    else if (!is_gone(tmp.error()))
        count_failure(tmp.error());
    return &processes_.emplace(pid, std::move(process)).first->second;
}

void CodeRundown::leave(std::uint32_t pid, std::uint64_t at_ns) {
    left_out_.erase(pid);
    const auto known = processes_.find(pid);
    // Records of different CPUs come out of order: this end may be of the program before.
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
    if (process.jitdump.valid()) copy(process.jitdump.get(), {pid, at_ns, trace::CodeFileKind::Jitdump}, process);
    if (!process.tmp.valid()) return;
    const auto map = open_plain_file(process.tmp.get(), "perf-" + std::to_string(process.facts.inner_pid) + ".map");
    if (map) {
        copy(map->get(), {pid, at_ns, trace::CodeFileKind::PerfMap}, process);
    } else if (!is_gone(map.error())) {
        count_failure(map.error());
    }
}

void CodeRundown::count_failure(const Error& error) {
    if (error.kind == ErrorKind::Denied) ++counts_.files_refused;
    if (error.kind != ErrorKind::Denied && !is_gone(error)) ++counts_.files_failed;
}

void CodeRundown::copy(int from, const trace::CodeFileName& name, const Process& process) {
    struct stat facts {};
    if (::fstat(from, &facts) != 0) {
        ++counts_.files_failed;
        return;
    }
    const bool own = facts.st_uid == process.facts.effective_uid || facts.st_uid == 0;
    const std::int64_t written_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec;
    // One that nobody wrote to since the process began is of another process that had the same number.
    if (!own || written_ns + clock_slack_ns < process.facts.started_realtime_ns) {
        ++counts_.files_refused;
        return;
    }
    const std::uint64_t limit_bytes = std::min(limits_.file_bytes, limits_.total_bytes - counts_.bytes);
    if (static_cast<std::uint64_t>(facts.st_size) > limit_bytes) ++counts_.files_cut;
    if (facts.st_size == 0 || limit_bytes == 0) return;
    if (const auto written = write_copy(from, limit_bytes, name)) {
        ++counts_.files;
        counts_.bytes += *written;
    } else {
        ++counts_.files_failed;
    }
}

Result<std::uint64_t> CodeRundown::write_copy(int from, std::uint64_t limit_bytes, const trace::CodeFileName& name) {
    const auto folder = directory_ / trace::code_directory_name;
    TRY(make_directories(folder, 0750));
    const auto path = folder / trace::to_text(name);
    TRY_ASSIGN(const UniqueFd to, open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0640));
    // In the kernel: no byte of it comes into this process.
    constexpr std::uint64_t piece_bytes = 1 << 20;
    off_t copied = 0;
    while (static_cast<std::uint64_t>(copied) < limit_bytes) {
        const std::size_t wanted = std::min(piece_bytes, limit_bytes - static_cast<std::uint64_t>(copied));
        const ssize_t got = ::sendfile(to.get(), from, &copied, wanted);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) break;
        if (got > 0) continue;
        const Error failure = system_error("copy");
        ::unlink(path.c_str());
        return failure;
    }
    return static_cast<std::uint64_t>(copied);
}

}  // namespace lagtrap::daemon
