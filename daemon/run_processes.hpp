// Whose runs are reported: name, program, build id and user of a process, looked at when its first run begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "bpf/listener.h"

namespace lagtrap::daemon {

// Texts are empty where nobody knows.
struct RunProcess {
    std::string name;
    std::string executable;
    std::string build_id;  // hexadecimal
    std::string user;
    std::uint64_t started_boottime_ns = 0;
};

// One thread's. Holds a bounded number of processes.
class RunProcesses {
  public:
    explicit RunProcesses(std::filesystem::path proc_root = "/proc") : proc_root_(std::move(proc_root)) {}

    void take(const lagtrap_process_report& report);
    // What take() was told of it; a process it was not told of is looked at now. Good until the next call.
    [[nodiscard]] const RunProcess& find(std::uint64_t process, std::uint32_t pid, std::uint32_t uid);

  private:
    [[nodiscard]] RunProcess look_at(std::uint32_t pid, std::uint32_t uid);
    [[nodiscard]] const std::string& name_of_user(std::uint32_t uid);

    std::filesystem::path proc_root_;
    std::unordered_map<std::uint64_t, RunProcess> processes_;
    std::unordered_map<std::uint32_t, std::string> users_;
    // Of program files: by device, inode and time of change.
    std::map<std::pair<std::pair<std::uint64_t, std::uint64_t>, std::int64_t>, std::string> build_ids_;
};

}  // namespace lagtrap::daemon
