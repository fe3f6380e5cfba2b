#include "daemon/events/group_scopes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::daemon::group_scopes_test {
namespace {

// Folders stand in for control groups.
class GroupScopesTest : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may give a folder to another user";
        root_ = std::filesystem::temp_directory_path() /
                ("lagtrap-groups-" + std::to_string(::getpid()));
        std::filesystem::create_directories(root_);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void make(const std::string& path) const {
        std::filesystem::create_directories(root_.string() + path);
    }
    void give(const std::string& path, uid_t user) const {
        ASSERT_EQ(::chown((root_.string() + path).c_str(), user, user), 0);
    }
    static std::vector<settings::Event> event_of_unit(const std::string& unit) {
        std::vector<settings::Event> events(1);
        events[0].scope.groups.unit = unit;
        return events;
    }
    // The watches of this process's inotify descriptors.
    static std::size_t watches() {
        std::size_t count = 0;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
            std::ifstream lines(entry.path());
            for (std::string line; std::getline(lines, line);)
                count += line.starts_with("inotify wd:") ? 1 : 0;
        }
        return count;
    }

    std::filesystem::path root_;
    ContainerNames names_;
    GroupScopes::Tell tell_ = [](std::uint32_t, std::uint64_t, bool) { return success(); };
};

TEST_F(GroupScopesTest, AUsersGroupIsNoUnitOfTheMachine) {
    make("/system.slice/nginx.service");
    make("/user.slice/user@1000.service");
    give("/user.slice/user@1000.service", 1000);
    make("/user.slice/user@1000.service/nginx.service");
    const GroupScopes scopes(event_of_unit("nginx"), names_, tell_, root_);
    EXPECT_EQ(scopes.of(0).groups, 1U);
}

TEST_F(GroupScopesTest, AUserLeavesRoomAndWatchesForOthers) {
    const std::size_t before = watches();
    make("/user@1000.service");
    give("/user@1000.service", 1000);
    for (int i = 0; i < 2100; ++i) make("/user@1000.service/" + std::to_string(i));
    make("/z.slice/nginx.service");
    const GroupScopes scopes(event_of_unit("nginx"), names_, tell_, root_);
    const ScopedGroups scoped = scopes.of(0);
    EXPECT_EQ(scoped.groups, 1U);
    EXPECT_EQ(scoped.problem, "user 1000 has too many control groups");
    // The root, the slice, the unit and the user's manager belong to root; the user has 2048.
    EXPECT_EQ(watches() - before, 4U + 2048U);
}

struct Told {
    std::uint32_t event = 0;
    std::uint64_t group = 0;
    bool wanted = false;
    bool operator==(const Told&) const = default;
};

// Keeps each call, on any thread.
class Listener {
  public:
    [[nodiscard]] GroupScopes::Tell tell() {
        return [this](std::uint32_t event, std::uint64_t group, bool wanted) {
            const std::scoped_lock lock(mutex_);
            told_.push_back({event, group, wanted});
            more_.notify_all();
            return success();
        };
    }
    [[nodiscard]] std::vector<Told> await(std::size_t count) {
        std::unique_lock lock(mutex_);
        more_.wait_for(lock, std::chrono::minutes(1), [&] { return told_.size() >= count; });
        return told_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<Told> told_;
};

std::uint64_t number_of(const std::filesystem::path& folder) {
    struct stat facts {};
    return ::stat(folder.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

TEST_F(GroupScopesTest, GroupsThatComeAndGoAreTold) {
    make("/system.slice/nginx.service");
    auto events = event_of_unit("nginx");
    events.insert(events.begin(), settings::Event());  // its scope names no group
    Listener listener;
    const GroupScopes scopes(events, names_, listener.tell(), root_);
    const std::filesystem::path first = root_.string() + "/system.slice/nginx.service";
    const std::uint64_t number = number_of(first);
    EXPECT_EQ(listener.await(1), (std::vector<Told>{{1, number, true}}));
    EXPECT_EQ(scopes.of(0).groups, 0U);
    make("/other.slice/deep/nginx.service");
    const std::uint64_t later = number_of(root_.string() + "/other.slice/deep/nginx.service");
    EXPECT_EQ(listener.await(2), (std::vector<Told>{{1, number, true}, {1, later, true}}));
    std::filesystem::remove(first);
    EXPECT_EQ(listener.await(3).back(), (Told{1, number, false}));
    EXPECT_EQ(scopes.of(1).groups, 1U);
    EXPECT_EQ(scopes.of(1).problem, "");
}

TEST_F(GroupScopesTest, AGroupThatCannotBeAddedIsAProblem) {
    make("/system.slice/nginx.service");
    make("/other.slice/nginx.service");
    int told = 0;
    const GroupScopes scopes(
        event_of_unit("nginx"), names_,
        [&told](std::uint32_t, std::uint64_t, bool) -> Status {
            return make_error(ErrorKind::System, "full " + std::to_string(++told));
        },
        root_);
    EXPECT_EQ(scopes.of(0).groups, 0U);
    EXPECT_EQ(scopes.of(0).problem, "full 1") << "the first one is kept";
}

TEST_F(GroupScopesTest, ContainersWithoutADescriptionAreCountedByWhatIsMissing) {
    make("/docker/" + std::string(64, 'a'));
    make("/docker/" + std::string(64, 'b'));
    std::vector<settings::Event> events(3);
    events[0].scope.groups.image = "redis*";
    events[1].scope.groups.label = "app=shop";
    events[2].scope.groups.container = std::string(12, 'b');
    const GroupScopes scopes(events, names_, tell_, root_);
    EXPECT_EQ(scopes.of(0).groups, 0U);
    EXPECT_EQ(scopes.of(0).not_known, (std::map<std::string, std::uint64_t>{{"image", 2}}));
    EXPECT_EQ(scopes.of(1).not_known, (std::map<std::string, std::uint64_t>{{"labels", 2}}));
    EXPECT_EQ(scopes.of(2).groups, 1U);
    EXPECT_EQ(scopes.of(2).not_known, (std::map<std::string, std::uint64_t>{{"name", 1}}));
}

TEST_F(GroupScopesTest, GroupsWithinAContainerHaveALimitedPart) {
    const std::string container = "/docker/" + std::string(64, 'a');
    for (int i = 0; i < 2049; ++i) make(container + "/" + std::to_string(i));
    make("/z.slice/nginx.service");
    const GroupScopes scopes(event_of_unit("nginx"), names_, tell_, root_);
    EXPECT_EQ(scopes.of(0).groups, 1U);
    EXPECT_EQ(scopes.of(0).problem,
              "container " + std::string(64, 'a') + " has too many control groups");
}

TEST(GroupHierarchy, IsWhereControlGroupsAre) {
    const auto place = find_group_hierarchy();
    if (place) {
        EXPECT_TRUE(std::filesystem::exists(*place / "cgroup.procs")) << *place;
    } else {
        EXPECT_EQ(place.error().message, "cgroup v2 is not mounted");
    }
}

}  // namespace
}  // namespace lagtrap::daemon::group_scopes_test
