// Tells the BPF programs which control groups are in the scopes of events. Follows the version 2
// hierarchy by inotify, from creation to removal of groups, on its own thread.
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
#include "daemon/threads/wakeup.hpp"
#include "settings/settings.hpp"

namespace lagtrap::daemon {

// Groups of one event whose scope names groups.
struct ScopedGroups {
    std::uint64_t groups = 0;  // in its scope now
    // number of containers by the fact that is missing to decide
    std::map<std::string, std::uint64_t> not_known;
    // why groups are not followed, or not all of them
    std::string problem;
};

class GroupScopes {
  public:
    // `wanted`: the group is in the event's scope, or not any more. Called on the constructing
    // thread and on this object's thread.
    using Tell = std::function<Status(std::uint32_t event, std::uint64_t group, bool wanted)>;
    // When it returns, it has reported all existing groups. `names` must outlive it.
    GroupScopes(const std::vector<settings::Event>& events, ContainerNames& names, Tell tell,
                const std::filesystem::path& root);
    ~GroupScopes();
    GroupScopes(const GroupScopes&) = delete;
    GroupScopes& operator=(const GroupScopes&) = delete;

    // Thread-safe.
    [[nodiscard]] ScopedGroups of(std::uint32_t event) const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Group {
        GroupPath place;
        std::string sharer;  // whose share the group counts against; "" for root
        std::uint64_t number = 0;
        std::map<std::uint32_t, bool> scopes;            // events
        std::map<std::uint32_t, std::string> not_known;  // events, and the missing fact
        Clock::time_point made;
    };
    void add_all();
    void add(const std::string& path, int depth);
    void judge(Group& group);
    [[nodiscard]] GroupPath place_of(const std::string& path) const;
    // Call it with mutex_ held.
    [[nodiscard]] bool has_room(const std::string& sharer);
    void remove(int watch);
    void remove_path(const std::string& path);
    void follow();
    void take_events();
    // Retries containers that were unknown because their manager had written nothing yet. True if
    // some may still become known.
    bool look_again();
    void note_problem(const std::string& problem);

    const std::vector<settings::Event> events_;
    ContainerNames& names_;
    const Tell tell_;
    const std::filesystem::path root_;
    UniqueFd inotify_;
    Wakeup stop_;
    mutable std::mutex mutex_;
    std::map<int, Group> groups_;                // by inotify watch
    std::map<std::string, std::size_t> shares_;  // number of groups, by sharer
    std::string problem_;
    std::thread thread_;
};

// The mount point of the version 2 hierarchy. ErrorKind::NotFound if it is not mounted.
[[nodiscard]] Result<std::filesystem::path> find_group_hierarchy();

}  // namespace lagtrap::daemon
