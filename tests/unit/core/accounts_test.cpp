#include "core/accounts.hpp"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::accounts_test {
namespace {

// The exit status of a child process for which `groups` is /etc/group.
int status_with(const std::string& groups, int (*child)()) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        const bool placed = ::unshare(CLONE_NEWNS) == 0 &&
                            ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                            ::mount(groups.c_str(), "/etc/group", nullptr, MS_BIND, nullptr) == 0;
        ::_exit(placed ? child() : 2);
    }
    int status = 0;
    return pid > 0 && ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                             : -1;
}

TEST(Accounts, FindsAGroupByItsName) {
    const auto root = find_group("root");
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, 0U);
}

TEST(Accounts, AGroupThatIsNotThereIsNamed) {
    const auto group = find_group("no-such\ngroup");
    ASSERT_FALSE(group);
    EXPECT_EQ(group.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(group.error().message, "no group \"no-such\\x0agroup\"");
}

TEST(Accounts, AGroupMayHaveManyMembers) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root may place another /etc/group";
    const std::string groups = testing::TempDir() + "groups-" + std::to_string(::getpid());
    std::ofstream file(groups);
    file << "crowd:x:4711:member";
    for (int i = 0; i < 10'000; ++i) file << ",member" << i;
    file << "\n";
    file.close();
    const auto finds = [] {
        const auto found = find_group("crowd");
        return found && *found == 4711 ? 0 : 1;
    };
    EXPECT_EQ(status_with(groups, finds), 0);
    ::unlink(groups.c_str());
}

}  // namespace
}  // namespace lagtrap::accounts_test
