#include "daemon/runs/run_processes.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "binaries/elf/program_file.hpp"
#include "core/files.hpp"
#include "core/text.hpp"
#include "daemon/processes/process_texts.hpp"
#include "daemon/processes/started_path.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t run_processes_limit = 16'384;
constexpr std::size_t users_limit = 4'096;
constexpr std::size_t files_limit = 4'096;

}  // namespace

const std::string& RunProcesses::name_of_user(std::uint32_t uid) {
    if (users_.size() >= users_limit) users_.clear();
    const auto [known, is_new] = users_.try_emplace(uid);
    if (!is_new) return known->second;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer;
    const bool named = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found;
    known->second = named ? printable(found->pw_name) : std::to_string(uid);
    return known->second;
}

RunProcesses::FileId RunProcesses::file_id_of(const struct stat& facts) {
    return {major(facts.st_dev) << 20 | minor(facts.st_dev), facts.st_ino};
}

std::string RunProcesses::build_id_of(int file, const struct stat& facts) {
    if (build_ids_.size() >= files_limit) build_ids_.clear();
    const std::pair identity{std::pair<std::uint64_t, std::uint64_t>{facts.st_dev, facts.st_ino},
                             std::int64_t{facts.st_ctim.tv_sec} * 1'000'000'000 + facts.st_ctim.tv_nsec};
    const auto [known, is_new] = build_ids_.try_emplace(identity);
    if (is_new) known->second = binaries::read_build_id(file);
    return known->second;
}

void RunProcesses::name_by_file(const FileId& program, RunProcess& process) {
    if (const auto known = programs_.find(program); known != programs_.end()) {
        process.executable = known->second.executable;
        process.build_id = known->second.build_id;
        return;
    }
    for (const std::string& path : expected_) {
        const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
        struct stat facts {};
        if (!file || ::fstat(file->get(), &facts) != 0 || file_id_of(facts) != program) continue;
        process.executable = printable(path);
        process.build_id = build_id_of(file->get(), facts);
        return;
    }
}

std::string RunProcesses::unit_of(const std::filesystem::path& process) const {
    const std::string group = control_group_of(process);
    trace::ContainerNames names;
    if (const std::string id = trace::container_of_group(group).id; !id.empty() && name_of_container_)
        names[id] = name_of_container_(id);
    return printable(trace::group_words(group, names).brief);
}

RunProcess RunProcesses::look_at(std::uint32_t pid, std::uint32_t uid, FileId& program) {
    RunProcess process;
    // First what goes with the process; a connection's first may live for milliseconds.
    const auto folder = proc_root_ / std::to_string(pid);
    process.executable = printable(program_of(folder));
    const auto file = open_file(folder / "exe", O_RDONLY | O_NONBLOCK);
    process.user = name_of_user(uid);
    process.unit = unit_of(folder);
    struct stat facts {};
    if (!file || ::fstat(file->get(), &facts) != 0) return process;
    program = file_id_of(facts);
    process.build_id = build_id_of(file->get(), facts);
    if (programs_.size() >= files_limit) programs_.clear();
    programs_.insert_or_assign(program, Program{process.executable, process.build_id});
    return process;
}

void RunProcesses::take(const lagtrap_process_report& report) {
    if (processes_.size() >= run_processes_limit) processes_.clear();
    FileId program;
    RunProcess process = look_at(report.pid, report.uid, program);
    // It has ended, or runs another program by now.
    if (report.program_inode != 0 && program.inode != report.program_inode)
        name_by_file({report.program_device, report.program_inode}, process);
    process.name = printable({report.comm, ::strnlen(report.comm, sizeof(report.comm))});
    process.started_boottime_ns = report.started_ns;
    processes_.insert_or_assign(report.process, std::move(process));
}

const RunProcess& RunProcesses::find(std::uint64_t process, std::uint32_t pid, std::uint32_t uid) {
    const auto known = processes_.find(process);
    if (known != processes_.end()) return known->second;
    if (processes_.size() >= run_processes_limit) processes_.clear();
    FileId program;
    RunProcess found = look_at(pid, uid, program);
    if (const auto name = read_file(proc_root_ / std::to_string(pid) / "comm", 64); name && !name->empty())
        found.name = printable(std::string_view(*name).substr(0, name->size() - 1));
    return processes_.insert_or_assign(process, std::move(found)).first->second;
}

}  // namespace lagtrap::daemon
