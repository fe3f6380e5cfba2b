#include "daemon/events/group_scopes.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "core/files.hpp"
#include "trace/logs/control_group_words.hpp"

namespace lagtrap::daemon {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mounts_limit_bytes = 4 << 20;
constexpr std::size_t groups_limit = 16'384;
constexpr std::size_t groups_of_sharer = groups_limit / 8;
constexpr int deepest = 64;
constexpr auto names_may_come_for = 20s;
constexpr std::chrono::milliseconds look_again_interval{200};
constexpr std::uint32_t wanted_events = IN_CREATE | IN_DELETE | IN_ONLYDIR;

// Groups created by users or in containers share a limited part of the table, for each user or
// container.
std::string sharer_of(const GroupPath& place) {
    if (place.root_bytes != std::string::npos) return "user " + std::to_string(place.maker);
    const std::string id = trace::container_of_group(place.path).id;
    const bool is_inside =
        !id.empty() && place.path.find('/', place.path.find(id)) != std::string::npos;
    return is_inside ? "container " + id : std::string();
}

}  // namespace

// Fields of mountinfo, see proc(5). The file system type follows " - ".
Result<std::filesystem::path> find_group_hierarchy() {
    TRY_ASSIGN(const std::string text, read_file("/proc/self/mountinfo", mounts_limit_bytes));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.find(" - cgroup2 ") == std::string::npos) continue;
        std::istringstream words(line);
        std::string number, parent, device, root, place;
        words >> number >> parent >> device >> root >> place;
        return std::filesystem::path(place);
    }
    return make_error(ErrorKind::NotFound, "cgroup v2 is not mounted");
}

GroupScopes::GroupScopes(const std::vector<settings::Event>& events, ContainerNames& names,
                         Tell tell, const std::filesystem::path& root)
    : events_(events),
      names_(names),
      tell_(std::move(tell)),
      root_(root),
      inotify_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    if (!inotify_.valid() || !stop_.valid()) {
        note_problem(system_error("follow control groups").message);
        return;
    }
    add_all();
    thread_ = std::thread([this] {
        (void)::pthread_setname_np(::pthread_self(), "groups");
        follow();
    });
}

GroupScopes::~GroupScopes() {
    if (!thread_.joinable()) return;
    stop_.notify();
    thread_.join();
}

void GroupScopes::note_problem(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = problem;
}

void GroupScopes::add_all() { add("", 0); }

// The owner of any folder above the group may have created it.
GroupPath GroupScopes::place_of(const std::string& path) const {
    GroupPath place{path, std::string::npos, 0};
    for (std::size_t at = 0; (at = path.find('/', at + 1)) != std::string::npos;) {
        struct stat facts {};
        if (::stat((root_.string() + path.substr(0, at)).c_str(), &facts) != 0 || facts.st_uid == 0)
            continue;
        return {path, at, facts.st_uid};
    }
    return place;
}

bool GroupScopes::has_room(const std::string& sharer) {
    const auto groups_of = [this](const std::string& one) {
        const auto found = shares_.find(one);
        return found == shares_.end() ? 0 : found->second;
    };
    const bool has_share = sharer.empty() || (groups_of(sharer) < groups_of_sharer &&
                                              groups_.size() - groups_of("") < groups_limit / 2);
    if (has_share && groups_.size() < groups_limit) return true;
    problem_ = has_share || sharer.empty()
                   ? fmt::format("more than {} control groups", groups_limit)
                   : fmt::format("{} has too many control groups", sharer);
    return false;
}

// Watch first, then list: nothing that is created in between is missed.
void GroupScopes::add(const std::string& path, int depth) {
    const std::string folder = root_.string() + path;
    const int watch = ::inotify_add_watch(inotify_.get(), folder.c_str(), wanted_events);
    if (watch < 0) {
        if (errno != ENOENT) note_problem(system_error("follow control group " + path).message);
        return;
    }
    struct stat facts {};
    if (::stat(folder.c_str(), &facts) != 0) return;
    GroupPath place = place_of(path);
    std::string sharer = sharer_of(place);
    bool is_new = false;
    {
        const std::lock_guard lock(mutex_);
        is_new = !groups_.contains(watch);
        if (is_new && !has_room(sharer)) {
            (void)::inotify_rm_watch(inotify_.get(), watch);
            return;
        }
        if (is_new) {
            ++shares_[sharer];
            groups_[watch].sharer = sharer;
        }
    }
    if (is_new) {
        Group group{std::move(place), std::move(sharer), facts.st_ino, {}, {}, Clock::now()};
        judge(group);
        const std::lock_guard lock(mutex_);
        groups_[watch] = std::move(group);
    }
    if (depth >= deepest) return;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed))
        if (entry.is_directory(failed))
            add(path + "/" + entry.path().filename().string(), depth + 1);
}

void GroupScopes::judge(Group& group) {
    const auto find = [this](const std::string& id) { return names_.find(id); };
    for (std::uint32_t event = 0; event < events_.size(); ++event) {
        const settings::Scope& scope = events_[event].scope;
        if (scope.groups.empty() || group.scopes.contains(event)) continue;
        const GroupJudgement judgement = judge_group(scope, group.place, find);
        group.not_known.erase(event);
        if (!judgement.not_known.empty()) group.not_known[event] = judgement.not_known;
        if (!judgement.in_scope) continue;
        if (const Status reported = tell_(event, group.number, true); reported)
            group.scopes[event] = true;
        else
            note_problem(reported.error().message);
    }
}

void GroupScopes::remove(int watch) {
    Group gone;
    {
        const std::lock_guard lock(mutex_);
        const auto found = groups_.find(watch);
        if (found == groups_.end()) return;
        gone = std::move(found->second);
        groups_.erase(found);
        if (const auto share = shares_.find(gone.sharer);
            share != shares_.end() && --share->second == 0)
            shares_.erase(share);
    }
    for (const auto& [event, in_scope] : gone.scopes) (void)tell_(event, gone.number, false);
}

void GroupScopes::remove_path(const std::string& path) {
    std::vector<int> watches;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [watch, group] : groups_)
            if (group.place.path == path || group.place.path.starts_with(path + "/"))
                watches.push_back(watch);
    }
    for (const int watch : watches) {
        (void)::inotify_rm_watch(inotify_.get(), watch);
        remove(watch);
    }
}

void GroupScopes::take_events() {
    alignas(inotify_event) std::array<char, 16 * 1024> events;
    const ssize_t bytes = ::read(inotify_.get(), events.data(), events.size());
    for (ssize_t at = 0; at < bytes;) {
        const auto* const event = reinterpret_cast<const inotify_event*>(events.data() + at);
        at += static_cast<ssize_t>(sizeof(*event) + event->len);
        if (event->mask & IN_Q_OVERFLOW) add_all();
        if (event->mask & IN_IGNORED) remove(event->wd);
        if (event->len == 0 || !(event->mask & IN_ISDIR)) continue;
        std::string parent;
        {
            const std::lock_guard lock(mutex_);
            const auto found = groups_.find(event->wd);
            if (found == groups_.end()) continue;
            parent = found->second.place.path;
        }
        const std::string path = parent + "/" + event->name;
        if (event->mask & IN_CREATE)
            add(path, static_cast<int>(std::count(path.begin(), path.end(), '/')));
        if (event->mask & IN_DELETE) remove_path(path);
    }
}

bool GroupScopes::look_again() {
    std::vector<std::pair<int, Group>> unknown;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [watch, group] : groups_)
            if (!group.not_known.empty() && Clock::now() - group.made < names_may_come_for)
                unknown.emplace_back(watch, group);
    }
    for (auto& [watch, group] : unknown) {
        judge(group);
        const std::lock_guard lock(mutex_);
        if (const auto found = groups_.find(watch); found != groups_.end())
            found->second = std::move(group);
    }
    return !unknown.empty();
}

void GroupScopes::follow() {
    for (;;) {
        const bool some_unknown = look_again();
        std::array<pollfd, 2> waiting{{{inotify_.get(), POLLIN, 0}, {stop_.fd(), POLLIN, 0}}};
        const int pause_ms = some_unknown ? static_cast<int>(look_again_interval.count()) : -1;
        if (::poll(waiting.data(), waiting.size(), pause_ms) < 0 && errno != EINTR) return;
        if (waiting[1].revents != 0) return;
        if (waiting[0].revents != 0) take_events();
    }
}

ScopedGroups GroupScopes::of(std::uint32_t event) const {
    ScopedGroups scoped;
    const std::lock_guard lock(mutex_);
    scoped.problem = problem_;
    for (const auto& [watch, group] : groups_) {
        if (group.scopes.contains(event)) ++scoped.groups;
        if (const auto unknown = group.not_known.find(event); unknown != group.not_known.end())
            ++scoped.not_known[unknown->second];
    }
    return scoped;
}

}  // namespace lagtrap::daemon
