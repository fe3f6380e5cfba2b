// Whose runs are reported: name, program, build id and user of a process, looked at when its first run begins.
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

#include "bpf/listener.h"
#include "daemon/processes/process_inspector.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {

// Texts are empty where nobody knows.
struct RunProcess {
    std::string name;
    std::string executable;
    std::string build_id;  // hexadecimal
    std::string user;
    std::string unit;  // or container, as trace::group_words() has it, brief
    std::uint64_t started_boottime_ns = 0;
};

// The name of the container with this id, as far as it is known.
using NameOfContainer = std::function<trace::ContainerName(const std::string& id)>;

// One thread's. Holds a bounded number of processes. Their files and command lines are looked at by helpers, whose deadline
// it waits for (process_inspector.hpp).
class RunProcesses {
  public:
    explicit RunProcesses(std::filesystem::path proc_root = "/proc", NameOfContainer name_of_container = {});

    // Files that are likely to be the program of a process that has ended when it is looked at.
    void expect(std::vector<std::string> programs) { expected_ = std::move(programs); }
    void take(const lagtrap_process_report& report);
    // What take() was told of it; a process it was not told of is looked at now. Good until the next call.
    [[nodiscard]] const RunProcess& find(std::uint64_t process, std::uint32_t pid, std::uint32_t uid);

  private:
    struct FileId {
        std::uint32_t device = 0;  // as the kernel has it: major << 20 | minor
        std::uint64_t inode = 0;

        auto operator<=>(const FileId&) const = default;
    };

    [[nodiscard]] static FileId file_id_of(const CodeFileIdentity& identity);
    // `program`: becomes that of the file it runs.
    [[nodiscard]] RunProcess look_at(std::uint32_t pid, std::uint32_t uid, FileId& program);
    // Where another process of the same program was known, or it is an expected one.
    void name_by_file(const FileId& program, RunProcess& process);
    [[nodiscard]] std::string build_id_of(int file, const CodeFileIdentity& identity);
    // The name by which its program was started; empty: the file's own, or not known.
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
    std::map<FileId, Program> programs_;
    // Of program files: by device, inode and time of change.
    std::map<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::int64_t>, std::string> build_ids_;
};

}  // namespace lagtrap::daemon
