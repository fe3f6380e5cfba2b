#include "daemon/capture/python_processes.hpp"

#include <signal.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "binaries/elf/python_layout.hpp"
#include "binaries/reader/file_reader.hpp"
#include "daemon/processes/inspections_cancelled.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto look_pause = 100ms;  // at least, between two looks
constexpr auto retry_pause = 1'000ms;

Result<lagtrap_python> read_layout(OpenedFile opened, const std::string& path) {
    if (binaries::FileReader* const reader = binaries::file_reader())
        return reader->python_layout(opened.file.get());
    TRY_ASSIGN(const auto image, binaries::ElfImage::from_file(std::move(opened.file), path));
    return binaries::find_python_layout(image);
}

bool is_temporary(const Error& error) {
    return error.kind == ErrorKind::Busy || error.kind == ErrorKind::Timeout;
}

bool is_gone(std::uint32_t pid) {
    return ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
}

}  // namespace

PythonProcesses::PythonProcesses(PythonPlaces& places, MappedFiles& files,
                                 ProcessInspector& inspector)
    : places_(places), files_(files), inspector_(inspector) {
    subscription_ = files_.subscribe([this] {
        {
            const std::scoped_lock lock(mutex_);
            changed_ = true;
        }
        more_.notify_one();
    });
    thread_ = std::thread([this] { work(); });
}

PythonProcesses::~PythonProcesses() {
    files_.unsubscribe(subscription_);
    {
        const std::scoped_lock lock(mutex_);
        ending_ = true;
    }
    more_.notify_one();
    thread_.join();
}

void PythonProcesses::work() {
    const InspectionsCancelled inspections_cancelled(ending_);
    std::unique_lock lock(mutex_);
    const auto ends = [this] { return ending_.load(); };
    for (;;) {
        more_.wait(lock, [this] { return ending_ || changed_; });
        if (ending_) return;
        changed_ = false;
        lock.unlock();
        const bool complete = look();
        lock.lock();
        if (!complete) changed_ = true;
        if (more_.wait_for(lock, complete ? look_pause : retry_pause, ends)) return;
    }
}

bool PythonProcesses::look() {
    bool complete = true;
    std::map<std::uint32_t, lagtrap_python> wanted;
    for (const MappedFiles::MappedFile& file : files_.all()) {
        if (ending_) return true;
        if (!binaries::may_be_python(file.mapping.path)) continue;
        const auto layout = layout_of(file);
        if (!layout) complete = complete && !is_temporary(layout.error());
        if (!layout || !*layout) continue;
        lagtrap_python place = **layout;
        const std::uint64_t code = file.mapping.mapping.start - file.mapping.mapping.file_offset;
        place.runtime += code;
        place.code_type += code;
        for (const std::uint32_t pid : file.pids) wanted.emplace(pid, place);
    }
    for (const std::uint32_t pid : places_.processes())
        if (!wanted.contains(pid) && (told_.contains(pid) || is_gone(pid))) places_.forget(pid);
    for (const auto& [pid, place] : wanted) places_.set(pid, place);
    told_.clear();
    for (const auto& [pid, place] : wanted) told_.insert(pid);
    return complete;
}

Result<std::optional<lagtrap_python>> PythonProcesses::layout_of(
    const MappedFiles::MappedFile& file) {
    const lagtrap_mapping& mapping = file.mapping.mapping;
    const std::tuple key{mapping.device, mapping.inode, file.build_id};
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    TRY_ASSIGN(OpenedFile opened, inspector_.open(file.mapping));
    const auto layout = read_layout(std::move(opened), file.mapping.path);
    if (!layout && is_temporary(layout.error())) return layout.error();
    const std::optional<lagtrap_python> found =
        layout ? std::optional(*layout) : std::optional<lagtrap_python>();
    if (mapping.inode == 0 && file.build_id.empty()) return found;
    if (known_.size() >= files_limit) known_.clear();
    return known_[key] = found;
}

std::set<std::string> python_file_names() {
    return {"python3.11",           "python3.12",           "python3.13",
            "libpython3.11.so.1.0", "libpython3.12.so.1.0", "libpython3.13.so.1.0"};
}

}  // namespace lagtrap::daemon
