// Keeps the kernel's programs told which control groups are in the scopes of events: follows the hierarchy of version 2 by
// inotify, from its groups' making to their end, on a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/result.hpp"
#include "core/unique_fd.hpp"
#include "daemon/events/group_judgement.hpp"
#include "daemon/processes/container_names.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Of one event whose scope names groups.
struct ScopedGroups {
    std::uint64_t groups = 0;                        // in its scope now
    std::map<std::string, std::uint64_t> not_known;  // containers for which this would decide it, and is not known
    std::string problem;                             // why groups are not followed, or not all
};

class GroupScopes {
  public:
    // `wanted`: it is in the event's scope; else no more. On the thread that makes this, and on its own.
    using Tell = std::function<Status(std::uint32_t event, std::uint64_t group, bool wanted)>;
    // Has told of all groups that there are when it returns. `names` outlives it.
    GroupScopes(const std::vector<settings::Event>& events, ContainerNames& names, Tell tell,
                const std::filesystem::path& root);
    ~GroupScopes();
    GroupScopes(const GroupScopes&) = delete;
    GroupScopes& operator=(const GroupScopes&) = delete;

    // From any thread.
    [[nodiscard]] ScopedGroups of(std::uint32_t event) const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Group {
        GroupPath place;
        std::string sharer;  // who shares room for groups with others: "" of root
        std::uint64_t number = 0;
        std::map<std::uint32_t, bool> scopes;            // events
        std::map<std::uint32_t, std::string> not_known;  // events, and what is not known
        Clock::time_point made;
    };
    void add_all();
    void add(const std::string& path, int depth);
    void judge(Group& group);
    [[nodiscard]] GroupPath place_of(const std::string& path) const;
    // Needs mutex_.
    [[nodiscard]] bool has_room(const std::string& sharer);
    void remove(int watch);
    void remove_path(const std::string& path);
    void follow();
    void take_events();
    // Of containers whose manager had written nothing when they came. Whether some may still be known.
    bool look_again();
    void note_problem(const std::string& problem);

    const std::vector<settings::Event> events_;
    ContainerNames& names_;
    const Tell tell_;
    const std::filesystem::path root_;
    UniqueFd inotify_, stop_;
    mutable std::mutex mutex_;
    std::map<int, Group> groups_;                // by inotify's number
    std::map<std::string, std::size_t> shares_;  // groups, by sharer
    std::string problem_;
    std::thread thread_;
};

// Where the hierarchy of version 2 is mounted; ErrorKind::NotFound: nowhere.
[[nodiscard]] Result<std::filesystem::path> find_group_hierarchy();

}  // namespace lagtrap::daemon
