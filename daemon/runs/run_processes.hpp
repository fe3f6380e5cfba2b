// Describes the processes of reported runs: name, program, build id and user, read when a process's
// first run begins.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bpf/event_monitor.h"
#include "daemon/processes/process_inspector.hpp"
#include "daemon/processes/program_file.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {

// Texts are empty if unknown.
struct RunProcess {
    std::string name;
    std::string executable;
    std::string build_id;  // hexadecimal
    std::string user;
    std::string unit;  // or container; the brief text of trace::group_words()
    std::uint64_t started_boottime_ns = 0;
};

// The name of the container with this id, as far as it is known.
using NameOfContainer = std::function<trace::ContainerName(const std::string& id)>;

// Use it on one thread. Holds a limited number of processes. Helpers read their files and command
// lines; it waits for them up to their deadline (process_inspector.hpp).
class RunProcesses {
  public:
    explicit RunProcesses(std::filesystem::path proc_root = "/proc",
                          NameOfContainer name_of_container = {});

    // Files that are probably the program of a process that has exited before it is read.
    void expect(std::vector<std::string> programs) { expected_ = std::move(programs); }
    void take(const lagtrap_process_report& report);
    // The process that take() described; otherwise reads it now. Valid until the next call.
    [[nodiscard]] const RunProcess& find(std::uint64_t process, std::uint32_t pid,
                                         std::uint32_t uid);

  private:
    // Sets `inode` to that of the file that the process runs.
    [[nodiscard]] RunProcess look_at(std::uint32_t pid, std::uint32_t uid, std::uint64_t& inode);
    // Uses what is known from another process with the same program, or from an expected file.
    void name_by_file(const ProgramFile& program, RunProcess& process);
    [[nodiscard]] std::string build_id_of(int file, const CodeFileIdentity& identity);
    // The name by which its program was started; empty if that is the file's own, or unknown.
    [[nodiscard]] std::string started_as(std::uint32_t pid);
    [[nodiscard]] const std::string& name_of_user(std::uint32_t uid);

    [[nodiscard]] std::string unit_of(const std::filesystem::path& process) const;

    std::filesystem::path proc_root_;
    NameOfContainer name_of_container_;
    DirectInspector own_inspector_;
    ProcessInspector& inspector_;
    std::unordered_map<std::uint64_t, RunProcess> processes_;
    std::unordered_map<std::uint32_t, std::string> users_;
    std::vector<std::string> expected_;
    struct Program {
        std::string executable;
        std::string build_id;
    };
    std::map<ProgramFile, Program> programs_;
    // Build ids of program files, by device, inode and change time.
    std::map<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::int64_t>, std::string>
        build_ids_;
};

}  // namespace lagtrap::daemon
