#include "daemon/processes/kept_roots.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <string>

#include "core/files.hpp"
#include "daemon/processes/process_scan.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t fdinfo_limit_bytes = 4'096;

std::uint64_t namespace_of(const std::filesystem::path& process) {
    struct stat facts {};
    return ::stat((process / "ns" / "mnt").c_str(), &facts) == 0 ? facts.st_ino : 0;
}

// As the kernel numbers it; 0: not known.
std::uint64_t mount_of(int fd) {
    const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), fdinfo_limit_bytes);
    const std::size_t label = text ? text->find("mnt_id:") : std::string::npos;
    if (label == std::string::npos) return 0;
    const std::size_t digits = text->find_first_of("0123456789", label);
    std::uint64_t number = 0;
    if (digits != std::string::npos) std::from_chars(text->data() + digits, text->data() + text->size(), number);
    return number;
}

// More are not told apart.
constexpr std::size_t most_left_out = 10'000;

}  // namespace

KeptRoots::KeptRoots(std::filesystem::path proc_root)
    : proc_root_(std::move(proc_root)), machines_{namespace_of("/proc/self"), namespace_of("/proc/1")} {}

// While a container is made its first process still has the root of before: what it has at the next look holds.
void KeptRoots::look() {
    for (const std::uint32_t pid : list_processes(proc_root_)) {
        const auto process = proc_root_ / std::to_string(pid);
        const std::uint64_t mounts = namespace_of(process);
        if (mounts == 0 || machines_.contains(mounts)) continue;
        auto root = open_file(process / "root", O_PATH | O_DIRECTORY);
        if (!root) continue;
        const View view(mounts, mount_of(root->get()));
        if (!roots_.contains(view)) {
            if (roots_.size() >= roots_limit) {
                if (left_out_.size() < most_left_out) left_out_.insert(view);
                continue;
            }
            roots_[view] = std::move(*root);
        }
        views_[pid] = view;
    }
}

trace::HeldRoots KeptRoots::held() const {
    trace::HeldRoots held;
    held.holder = ::getpid();
    for (const auto& [pid, view] : views_) held.descriptors[pid] = roots_.at(view).get();
    return held;
}

}  // namespace lagtrap::daemon
