#include "daemon/budget/memory_group.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <string>

#include "core/files.hpp"

namespace lagtrap::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_bytes = 64 * 1024;
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
        return std::nullopt;
    return value;
}

// A limit is a number or "max". Version 1 expresses "no limit" as a number beyond any real memory.
std::uint64_t limit_in(const fs::path& path) {
    constexpr std::uint64_t beyond_any_machine = 1ULL << 60;
    const auto text = read_file(path, max_bytes);
    const auto value = text ? number_in(*text) : std::nullopt;
    return value && *value < beyond_any_machine ? *value : no_limit;
}

// The number after `key` and a space at the start of a line; 0 if there is no such line.
std::uint64_t value_of(std::string_view text, std::string_view key) {
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
            return number_in(line.substr(key.size() + 1)).value_or(0);
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return 0;
}

bool names_controller(std::string_view controllers, std::string_view wanted) {
    while (!controllers.empty()) {
        const auto end = controllers.find(',');
        if (controllers.substr(0, end) == wanted) return true;
        if (end == std::string_view::npos) break;
        controllers.remove_prefix(end + 1);
    }
    return false;
}

// The path in the line "number:controllers:path" whose controllers equal `wanted`. Version 2 has an
// empty list of controllers.
std::optional<std::string> path_of(std::string_view memberships, std::string_view wanted) {
    while (!memberships.empty()) {
        const auto end = memberships.find('\n');
        const std::string_view line = memberships.substr(0, end);
        const auto first = line.find(':');
        const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second != std::string_view::npos) {
            const std::string_view controllers = line.substr(first + 1, second - first - 1);
            if (wanted.empty() ? controllers.empty() : names_controller(controllers, wanted))
                return std::string(line.substr(second + 1));
        }
        if (end == std::string_view::npos) break;
        memberships.remove_prefix(end + 1);
    }
    return std::nullopt;
}

}  // namespace

struct MemoryGroup::Names {
    const char* below;  // relative to the root
    const char* controller;
    const char* used;
    std::array<const char*, 2> limits;
    std::array<const char*, 2> file_pages;
    const char* cached;  // page cache, including shared memory
    const char* anonymous;
    const char* shared;
    const char* events;
};

namespace {

constexpr std::array<const char*, 2> version_2_limits{"memory.max", "memory.high"};

}  // namespace

std::optional<MemoryGroup> MemoryGroup::find(std::string_view memberships, const fs::path& root) {
    static constexpr std::array<Names, 2> versions{
        Names{"memory",
              "memory",
              "memory.usage_in_bytes",
              {"memory.limit_in_bytes", "memory.limit_in_bytes"},
              {"total_active_file", "total_inactive_file"},
              "total_cache",
              "total_rss",
              "total_shmem",
              "memory.oom_control"},
        Names{"",
              "",
              "memory.current",
              version_2_limits,
              {"active_file", "inactive_file"},
              "file",
              "anon",
              "shmem",
              "memory.events"}};
    for (const Names& names : versions) {
        const auto path = path_of(memberships, names.controller);
        // The path contains ".." if this process sees a cgroup namespace that begins below its own
        // group. That group is not visible here.
        if (!path || path->find("..") != std::string::npos) continue;
        MemoryGroup group;
        group.names_ = &names;
        const fs::path top = root / names.below;
        group.top_ = top.lexically_normal();
        fs::path folder = (top / fs::path(*path).relative_path()).lexically_normal();
        std::error_code ignored;
        for (;; folder = folder.parent_path()) {
            // The root group does not have this file.
            if (fs::exists(folder / names.used, ignored)) group.folders_.push_back(folder);
            if (folder == top.lexically_normal() || folder == folder.parent_path()) break;
        }
        if (!group.folders_.empty()) return group;
    }
    return std::nullopt;
}

std::optional<MemoryGroup> MemoryGroup::of_this_process() {
    const auto memberships = read_file("/proc/self/cgroup", max_bytes);
    if (!memberships) return std::nullopt;
    return find(*memberships);
}

std::optional<MemoryUse> MemoryGroup::use_of(const fs::path& folder) const {
    MemoryUse use{no_limit, 0};
    for (const char* name : names_->limits)
        use.limit_bytes = std::min(use.limit_bytes, limit_in(folder / name));
    if (use.limit_bytes == no_limit) return std::nullopt;
    const auto used = read_file(folder / names_->used, max_bytes);
    const auto statistics = read_file(folder / "memory.stat", max_bytes);
    if (!used || !statistics) return std::nullopt;
    std::uint64_t file_bytes = 0;
    for (const char* key : names_->file_pages) file_bytes += value_of(*statistics, key);
    const std::uint64_t all_bytes = number_in(*used).value_or(0);
    use.used_bytes = all_bytes > file_bytes ? all_bytes - file_bytes : 0;
    return use;
}

std::optional<MemoryUse> MemoryGroup::use() const {
    std::optional<MemoryUse> tightest;
    for (const fs::path& folder : folders_) {
        const auto found = use_of(folder);
        if (found && (!tightest || found->room_bytes() < tightest->room_bytes())) tightest = found;
    }
    return tightest;
}

std::optional<MemoryFill> MemoryGroup::fill_of(const fs::path& folder) const {
    MemoryFill fill{folder, "/" / folder.lexically_relative(top_), no_limit};
    for (const char* name : names_->limits)
        fill.limit_bytes = std::min(fill.limit_bytes, limit_in(folder / name));
    if (fill.limit_bytes == no_limit) return std::nullopt;
    const auto used = read_file(folder / names_->used, max_bytes);
    const auto statistics = read_file(folder / "memory.stat", max_bytes);
    if (!used || !statistics) return std::nullopt;
    fill.used_bytes = number_in(*used).value_or(0);
    fill.anonymous_bytes = value_of(*statistics, names_->anonymous);
    fill.shared_bytes = value_of(*statistics, names_->shared);
    const std::uint64_t cached_bytes = value_of(*statistics, names_->cached);
    fill.file_bytes = cached_bytes - std::min(cached_bytes, fill.shared_bytes);
    return fill;
}

std::optional<MemoryFill> MemoryGroup::fill() const {
    std::optional<MemoryFill> fullest;
    for (const fs::path& folder : folders_) {
        auto found = fill_of(folder);
        if (found && (!fullest || found->room_bytes() < fullest->room_bytes()))
            fullest = std::move(found);
    }
    return fullest;
}

std::uint64_t MemoryGroup::killed() const {
    const auto events = read_file(folders_.front() / names_->events, max_bytes);
    return events ? value_of(*events, "oom_kill") : 0;
}

}  // namespace lagtrap::daemon
