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
#include "daemon/processes/process_names.hpp"
#include "daemon/processes/process_texts.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t run_processes_limit = 16'384;
constexpr std::size_t users_limit = 4'096;
constexpr std::size_t files_limit = 4'096;

// For a file that the settings name.
CodeFileIdentity identity_of(const struct stat& facts) {
    CodeFileIdentity identity;
    identity.device = device_number(major(facts.st_dev), minor(facts.st_dev));
    identity.inode = facts.st_ino;
    identity.size_bytes = static_cast<std::uint64_t>(facts.st_size);
    identity.changed_ns = facts.st_ctim.tv_sec * 1'000'000'000LL + facts.st_ctim.tv_nsec;
    return identity;
}

// The fourth text of the record, after program, command line and control group.
std::string name_it_was_started_by(const lagtrap_process& process) {
    std::string_view texts(reinterpret_cast<const char*>(&process + 1), process.text_bytes);
    for (int skipped = 0; skipped < 3; ++skipped) {
        const std::size_t end = texts.find('\0');
        if (end == std::string_view::npos) return {};
        texts.remove_prefix(end + 1);
    }
    return std::string(texts);
}

}  // namespace

RunProcesses::RunProcesses(std::filesystem::path proc_root, NameOfContainer name_of_container)
    : proc_root_(std::move(proc_root)),
      name_of_container_(std::move(name_of_container)),
      own_inspector_(proc_root_),
      inspector_(proc_root_ == "/proc" && process_inspector() ? *process_inspector()
                                                              : own_inspector_) {}

const std::string& RunProcesses::name_of_user(std::uint32_t uid) {
    if (users_.size() >= users_limit) users_.clear();
    const auto [known, is_new] = users_.try_emplace(uid);
    if (!is_new) return known->second;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 16384> buffer;
    const bool named =
        ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found;
    known->second = named ? printable(found->pw_name) : std::to_string(uid);
    return known->second;
}

std::string RunProcesses::build_id_of(int file, const CodeFileIdentity& identity) {
    if (build_ids_.size() >= files_limit) build_ids_.clear();
    const std::pair key{std::pair{identity.device, identity.inode}, identity.changed_ns};
    const auto [known, is_new] = build_ids_.try_emplace(key);
    if (is_new) known->second = binaries::read_build_id(file);
    return known->second;
}

void RunProcesses::name_by_file(const ProgramFile& program, RunProcess& process) {
    if (const auto known = programs_.find(program); known != programs_.end()) {
        process.executable = known->second.executable;
        process.build_id = known->second.build_id;
        return;
    }
    for (const std::string& path : expected_) {
        if (const auto expected = program_file_at(path); !expected || *expected != program)
            continue;
        const auto file = open_file(path, O_RDONLY | O_NONBLOCK);
        struct stat facts {};
        if (!file || ::fstat(file->get(), &facts) != 0 || facts.st_ino != program.inode) continue;
        process.executable = printable(path);
        process.build_id = build_id_of(file->get(), identity_of(facts));
        return;
    }
}

std::string RunProcesses::unit_of(const std::filesystem::path& process) const {
    const std::string group = control_group_of(process);
    trace::ContainerNames names;
    if (const std::string id = trace::container_of_group(group).id;
        !id.empty() && name_of_container_)
        names[id] = name_of_container_(id);
    return printable(trace::group_words(group, names).brief);
}

std::string RunProcesses::started_as(std::uint32_t pid) {
    const auto process = inspector_.read(pid, ProcessInspector::Code::Left, {});
    std::string name;
    if (process)
        process->records.for_each([&](const lagtrap_record* record) {
            if (record->type == LAGTRAP_RECORD_PROCESS)
                name = name_it_was_started_by(*reinterpret_cast<const lagtrap_process*>(record));
        });
    return name;
}

RunProcess RunProcesses::look_at(std::uint32_t pid, std::uint32_t uid, std::uint64_t& inode) {
    RunProcess process;
    // First read what disappears with the process: the process of a single connection may live for
    // milliseconds.
    const auto folder = proc_root_ / std::to_string(pid);
    process.executable = printable(program_of(folder));
    process.unit = unit_of(folder);
    const auto opened = inspector_.open_program(pid);
    if (const std::string started = started_as(pid); !started.empty())
        process.executable = printable(started);
    process.user = name_of_user(uid);
    if (!opened) return process;
    inode = opened->identity.inode;
    process.build_id = build_id_of(opened->file.get(), opened->identity);
    return process;
}

void RunProcesses::take(const lagtrap_process_report& report) {
    if (processes_.size() >= run_processes_limit) processes_.clear();
    std::uint64_t inode = 0;
    RunProcess process = look_at(report.pid, report.uid, inode);
    if (const ProgramFile program{report.program_device, report.program_inode};
        program.inode != 0 && program.inode != inode) {
        // It has exited, or runs another program by now.
        name_by_file(program, process);
    } else if (program.inode != 0) {
        if (programs_.size() >= files_limit) programs_.clear();
        programs_.insert_or_assign(program, Program{process.executable, process.build_id});
    }
    process.name = printable({report.comm, ::strnlen(report.comm, sizeof(report.comm))});
    process.started_boottime_ns = report.started_ns;
    processes_.insert_or_assign(report.process, std::move(process));
}

const RunProcess& RunProcesses::find(std::uint64_t process, std::uint32_t pid, std::uint32_t uid) {
    const auto known = processes_.find(process);
    if (known != processes_.end()) return known->second;
    if (processes_.size() >= run_processes_limit) processes_.clear();
    std::uint64_t inode = 0;
    RunProcess found = look_at(pid, uid, inode);
    if (const auto name = read_file(proc_root_ / std::to_string(pid) / "comm", 64);
        name && !name->empty())
        found.name = printable(std::string_view(*name).substr(0, name->size() - 1));
    return processes_.insert_or_assign(process, std::move(found)).first->second;
}

}  // namespace lagtrap::daemon
