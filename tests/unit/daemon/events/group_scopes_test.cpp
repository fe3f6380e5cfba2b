#include "daemon/events/group_scopes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

}  // namespace
}  // namespace lagtrap::daemon::group_scopes_test
