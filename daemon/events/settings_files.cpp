#include "daemon/events/settings_files.hpp"

#include <sys/stat.h>

#include <optional>
#include <utility>

#include <fmt/core.h>

#include "core/timed_call.hpp"
#include "sandbox/machine_root.hpp"
#include "sandbox/other_writers.hpp"
#include "settings/program_name.hpp"

namespace lagtrap::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto open_timeout = 5s;
constexpr auto look_timeout = 2s;

// What a path led to, and why it could not be opened.
struct FoundFile {
    std::optional<FileIdentity> seen;
    std::shared_ptr<const WatchedFile> file;
    Error problem;
};

Result<FoundFile> open_file(const std::string& path) {
    FoundFile opened;
    if (auto file = WatchedFile::open(path)) {
        opened.file = std::move(*file);
        opened.seen = opened.file->identity();
    } else {
        opened.problem = file.error();
        opened.seen = FileIdentity::at(path);
    }
    return opened;
}

Result<PathTarget> read_target(const std::string& path) {
    PathTarget target;
    if (const auto root = facts_on_machine("/")) target.root_device = root->st_dev;
    const auto facts = facts_on_machine(path);
    if (!facts) return target;
    target.seen = FileIdentity::of(*facts);
    target.regular = S_ISREG(facts->st_mode);
    target.leads_to = real_path_on_machine(path).string();
    return target;
}

}  // namespace

std::set<std::string> binaries_of(const settings::Event& event) {
    std::set<std::string> binaries{event.begin.binary, event.end.binary};
    for (const auto& stage : event.stages) binaries.insert(stage.marker.binary);
    binaries.erase(std::string());
    std::erase_if(binaries, [](const std::string& name) {
        return settings::kind_of_program(name) != settings::ProgramName::Path;
    });
    return binaries;
}

SettingsFiles::SettingsFiles(const std::vector<settings::Event>& events, WriteGuard& guard,
                             bool follows)
    : guard_(guard), follows_(follows) {
    for (const settings::Event& event : events)
        for (const std::string& binary : binaries_of(event)) files_[binary];
}

Result<PathTarget> SettingsFiles::target_of(const std::string& path) const {
    return call_within<PathTarget>(look_timeout, path, [path] { return read_target(path); });
}

Result<std::shared_ptr<const WatchedFile>> SettingsFiles::open(const std::string& path) {
    if (auto known = file(path)) return known;
    TRY_ASSIGN(const FoundFile opened,
               call_within<FoundFile>(open_timeout, path, [path] { return open_file(path); }));
    if (opened.file) (void)guard_.hold(opened.file);
    {
        const std::lock_guard lock(mutex_);
        files_[path].note_opened(opened.file, opened.seen);
    }
    if (!opened.file) return opened.problem;
    return opened.file;
}

bool SettingsFiles::follow(const std::string& path) {
    if (file(path)) return false;
    const auto target = target_of(path);
    const bool followed = target && follows_ && is_followed(path, *target);
    const std::lock_guard lock(mutex_);
    files_[path].note_followed(followed, followed ? *target : PathTarget());
    return followed;
}

SettingsFiles::Change SettingsFiles::look_at(const std::string& path, bool mapped) {
    const auto target = target_of(path);
    if (!target) return Change::None;
    const WatchedPath::Use use{mapped, guard_.written(path), guard_.holds(path)};
    {
        const std::lock_guard lock(mutex_);
        WatchedPath& entry = files_[path];
        if (!entry.has_changed(*target, follows_ && is_followed(path, *target), use))
            return Change::None;
        if (entry.pause(Clock::now()) > Clock::duration::zero()) return Change::Later;
        entry.close();
    }
    if (follow(path)) return Change::Replaced;
    // If somebody still writes to it, try again at the next check, without a growing pause.
    (void)open(path);
    return guard_.written(path) ? Change::Later : Change::Replaced;
}

void SettingsFiles::note_rearmed(const std::string& path) {
    const std::lock_guard lock(mutex_);
    files_[path].note_rearmed(Clock::now());
}

Error SettingsFiles::blame(const std::string& path, const Error& error) {
    if (error.kind != ErrorKind::Timeout || path.empty()) return error;
    {
        const std::lock_guard lock(mutex_);
        files_[path].note_slow();
    }
    const auto slow = file(path);
    if (!slow) return error;
    return Error{
        error.kind, error.system_errno,
        fmt::format("{}; the file belongs to user {}", error.message, user_text(slow->owner()))};
}

std::vector<std::string> SettingsFiles::paths() const {
    std::vector<std::string> paths;
    const std::lock_guard lock(mutex_);
    for (const auto& [path, entry] : files_) paths.push_back(path);
    return paths;
}

std::shared_ptr<const WatchedFile> SettingsFiles::file(const std::string& path) const {
    const std::lock_guard lock(mutex_);
    const auto found = files_.find(path);
    return found == files_.end() ? nullptr : found->second.file();
}

CopyArming::MainFiles SettingsFiles::main_files() const {
    CopyArming::MainFiles files;
    const std::lock_guard lock(mutex_);
    for (const auto& [path, entry] : files_) {
        if (entry.file()) files.opened.push_back(entry.file());
        if (entry.followed()) files.followed[path] = entry.leads_to();
    }
    return files;
}

std::vector<WatchedFileStatus> SettingsFiles::status() const {
    std::vector<WatchedFileStatus> all;
    const std::lock_guard lock(mutex_);
    for (const auto& [path, entry] : files_) {
        const auto& file = entry.file();
        if (!file) continue;
        all.push_back({path, file->owner(), file->other_writers(), entry.rearmed(),
                       entry.pause(Clock::now()), entry.slow()});
    }
    return all;
}

std::vector<FileIdentity> SettingsFiles::identities_of(const settings::Event& event) const {
    std::vector<FileIdentity> identities;
    const std::lock_guard lock(mutex_);
    for (const std::string& binary : binaries_of(event))
        if (const auto found = files_.find(binary); found != files_.end() && found->second.file())
            identities.push_back(found->second.file()->identity());
    return identities;
}

}  // namespace lagtrap::daemon
