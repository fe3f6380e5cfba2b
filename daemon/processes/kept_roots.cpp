#include "daemon/processes/kept_roots.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <string>

#include "core/files.hpp"
#include "daemon/processes/inspector_pool.hpp"
#include "daemon/processes/process_names.hpp"
#include "daemon/processes/process_scan.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::uint64_t fdinfo_limit_bytes = 4'096;

std::uint64_t namespace_of(const std::filesystem::path& process) {
    struct stat facts {};
    return ::stat((process / "ns" / "mnt").c_str(), &facts) == 0 ? facts.st_ino : 0;
}

// The kernel's mount id; 0 if unknown.
std::uint64_t mount_of(int fd) {
    const auto text = read_file("/proc/self/fdinfo/" + std::to_string(fd), fdinfo_limit_bytes);
    const std::size_t label = text ? text->find("mnt_id:") : std::string::npos;
    if (label == std::string::npos) return 0;
    const std::size_t digits = text->find_first_of("0123456789", label);
    std::uint64_t number = 0;
    if (digits != std::string::npos)
        std::from_chars(text->data() + digits, text->data() + text->size(), number);
    return number;
}

}  // namespace

bool RootAge::is_due(std::uint64_t mounts, const std::string& program) {
    if (mounts != mounts_ || program != program_) looks_ = 0;
    mounts_ = mounts;
    program_ = program;
    return std::has_single_bit(++looks_);
}

KeptRoots::KeptRoots(ProcessInspector& inspector, std::uint32_t first,
                     std::filesystem::path proc_root)
    : inspector_(inspector),
      first_(first),
      proc_root_(std::move(proc_root)),
      machines_{namespace_of("/proc/self"), namespace_of("/proc/1")} {
    thread_ = std::thread([this] { work(); });
}

KeptRoots::~KeptRoots() {
    given_up_ = true;
    finish();
}

void KeptRoots::work() {
    (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 0);
    const InspectionsCancelled scope(given_up_);
    std::unique_lock lock(mutex_);
    for (bool is_last = false; !is_last;) {
        is_last = ending_;
        lock.unlock();
        look();
        lock.lock();
        progress_ = Progress::Looked;
        changed_.notify_all();
        if (!is_last) (void)changed_.wait_for(lock, look_interval, [this] { return ending_; });
    }
    progress_ = Progress::Ended;
    changed_.notify_all();
}

void KeptRoots::look() {
    if (first_ != 0) look_at(std::exchange(first_, 0));
    const std::set<std::uint32_t> pids = list_processes(proc_root_);
    std::erase_if(ages_, [&pids](const auto& known) { return !pids.contains(known.first); });
    for (const std::uint32_t pid : pids) {
        if (given_up_.load()) return;
        look_at(pid);
    }
}

void KeptRoots::look_at(std::uint32_t pid) {
    const auto process = proc_root_ / std::to_string(pid);
    const std::uint64_t mounts = namespace_of(process);
    if (mounts == 0 || machines_.contains(mounts) ||
        !ages_[pid].is_due(mounts, program_of(process)))
        return;
    auto root = inspector_.open_root(pid);
    if (!root) return;
    const HeldViews::View view(mounts, mount_of(root->get()));
    views_.add(pid, view, std::move(*root));
}

void KeptRoots::await_first_look() {
    std::unique_lock lock(mutex_);
    (void)changed_.wait_for(lock, first_look_timeout,
                            [this] { return progress_ != Progress::Begun; });
}

void KeptRoots::begin_to_finish() {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
}

void KeptRoots::finish() {
    if (!thread_.joinable()) return;
    begin_to_finish();
    {
        std::unique_lock lock(mutex_);
        (void)changed_.wait_for(lock, finish_timeout, [this] {
            return progress_ == Progress::Ended || given_up_.load();
        });
    }
    // Makes all further inspections fail.
    given_up_ = true;
    thread_.join();
}

}  // namespace lagtrap::daemon
