#include "cli/programs/program_processes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>

#include "core/files.hpp"
#include "core/mapped_files.hpp"
#include "core/text.hpp"

namespace lagtrap::cli {
namespace {

constexpr std::size_t mappings_limit_bytes = 4U << 20;

struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
};

std::optional<FileId> id_of(const std::filesystem::path& path) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
    return FileId{facts.st_dev, facts.st_ino};
}

std::string link_target(const std::filesystem::path& path) {
    std::array<char, 4096> target{};
    const ssize_t bytes = ::readlink(path.c_str(), target.data(), target.size());
    return bytes > 0 ? std::string(target.data(), static_cast<std::size_t>(bytes)) : std::string();
}

bool take_mark(std::string& path) {
    if (!path.ends_with(deleted_mark)) return false;
    path.resize(path.size() - deleted_mark.size());
    return true;
}

// "docker-4f....scope" from "0::/system.slice/docker-4f....scope".
std::string control_group_of(const std::filesystem::path& process) {
    const auto text = read_file(process / "cgroup", 64 * 1024);
    if (!text) return {};
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
        const auto slash = line.rfind('/');
        if (slash != std::string::npos && slash + 1 < line.size())
            return printable(line.substr(slash + 1));
    }
    return {};
}

class Search {
  public:
    Search(const std::filesystem::path& file, std::filesystem::path proc_root)
        : name_(file.filename().string()),
          wanted_(id_of(file)),
          proc_root_(std::move(proc_root)),
          own_view_(link_target(proc_root_ / "self" / "ns" / "mnt")) {}

    ProgramProcesses run() {
        std::error_code ignored;
        for (const auto& entry : std::filesystem::directory_iterator(proc_root_, ignored)) {
            const std::string number = entry.path().filename().string();
            int pid = 0;
            const auto [end, failure] =
                std::from_chars(number.data(), number.data() + number.size(), pid);
            if (failure == std::errc{} && end == number.data() + number.size())
                pids_.push_back(pid);
        }
        std::sort(pids_.begin(), pids_.end());
        for (const int pid : pids_) look_at_program(pid);
        if (result_.found.empty())
            for (const int pid : pids_) look_at_mappings(pid);
        return std::move(result_);
    }

  private:
    void add(int pid, std::string path, std::optional<FileId> id) {
        ProgramProcess process;
        process.pid = pid;
        process.deleted = take_mark(path);
        process.same_file = id && wanted_ && *id == *wanted_;
        if (!process.same_file && std::filesystem::path(path).filename() != name_) return;
        process.path = printable(path);
        const auto folder = proc_root_ / std::to_string(pid);
        const std::string view = link_target(folder / "ns" / "mnt");
        process.elsewhere = !view.empty() && view != own_view_;
        process.control_group = control_group_of(folder);
        result_.found.push_back(std::move(process));
    }

    void look_at_program(int pid) {
        const auto link = proc_root_ / std::to_string(pid) / "exe";
        const std::string path = link_target(link);
        if (!path.empty()) return add(pid, path, id_of(link));
        if (errno == EACCES || errno == EPERM) ++result_.hidden;
    }

    void look_at_mappings(int pid) {
        const auto folder = proc_root_ / std::to_string(pid);
        const auto text = read_file(folder / "maps", mappings_limit_bytes);
        if (!text) return;
        std::istringstream lines(*text);
        for (std::string line; std::getline(lines, line);) {
            const auto slash = line.find('/');
            if (slash == std::string::npos) continue;
            std::string path = line.substr(slash);
            std::string plain = path;
            take_mark(plain);
            if (std::filesystem::path(plain).filename() != name_) continue;
            return add(pid, path,
                       id_of(folder / "root" / std::filesystem::path(plain).relative_path()));
        }
    }

    std::string name_;
    std::optional<FileId> wanted_;
    std::filesystem::path proc_root_;
    std::string own_view_;
    std::vector<int> pids_;
    ProgramProcesses result_;
};

}  // namespace

ProgramProcesses processes_of(const std::filesystem::path& file,
                              const std::filesystem::path& proc_root) {
    return Search(file, proc_root).run();
}

}  // namespace lagtrap::cli
