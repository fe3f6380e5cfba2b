#include "daemon/processes/process_party.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/files.hpp"

namespace lagtrap::daemon::process_party_test {
namespace {

constexpr std::uint32_t some_namespace = 4026532841;

TEST(ProcessParty, AUserOfTheMachineIsItsNumber) {
    EXPECT_EQ(party_of({.uid = 1000}), 1000U);
    EXPECT_EQ(party_of({.uid = 0}), root_party);
}

TEST(ProcessParty, SubordinateUsersAreTheOwnerOfTheirNamespace) {
    const ProcessNamespaces::Pids own_pids{some_namespace + 1, false};
    const ProcessNamespaces::Users users{some_namespace, 1000};
    EXPECT_EQ(party_of({100000, std::nullopt, users}), 1000U);
    EXPECT_EQ(party_of({165535, own_pids, users}), 1000U);
}

TEST(ProcessParty, WhatRootMadeIsAPartyOfItsOwn) {
    const ProcessNamespaces::Pids container{some_namespace, true};
    EXPECT_EQ(party_of({0, container, std::nullopt}), some_namespace);
    EXPECT_EQ(party_of({1000, container, std::nullopt}), some_namespace)
        << "root in there may become user 1000";
    EXPECT_EQ(party_of({1000, container, ProcessNamespaces::Users{some_namespace + 1, 1000}}),
              some_namespace);
    EXPECT_EQ(party_of({0, std::nullopt, ProcessNamespaces::Users{some_namespace, 0}}),
              some_namespace);
}

TEST(ProcessParty, NoUserHasTheNumberOfANamespace) {
    EXPECT_EQ(party_of({.uid = some_namespace}), unknown_party);
    EXPECT_EQ(
        party_of({100000, std::nullopt, ProcessNamespaces::Users{some_namespace, some_namespace}}),
        unknown_party);
}

TEST(ProcessParty, WordsSayWhatItIs) {
    EXPECT_EQ(party_text(1000), "user 1000");
    EXPECT_EQ(party_text(some_namespace), "container 4026532841");
    EXPECT_EQ(party_text(unknown_party), "unknown users");
}

// A child that lives in namespaces until it is told to end.
class Child {
  public:
    // Checks whether it entered them. A process forked by `enter` ends with the pipe too.
    explicit Child(const std::function<bool()>& enter) {
        std::array<int, 2> ready{}, end{};
        if (::pipe2(ready.data(), O_CLOEXEC) != 0 || ::pipe2(end.data(), O_CLOEXEC) != 0) return;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(end[1]);
            const char entered = enter() ? 'y' : 'n';
            (void)!::write(ready[1], &entered, 1);
            char nothing = 0;
            (void)!::read(end[0], &nothing, 1);
            ::_exit(0);
        }
        ::close(ready[1]);
        ::close(end[0]);
        end_ = end[1];
        char entered = 'n';
        entered_ = ::read(ready[0], &entered, 1) == 1 && entered == 'y';
        ::close(ready[0]);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        ::close(end_);
        ::waitpid(pid_, nullptr, 0);
    }

    [[nodiscard]] bool entered() const { return entered_; }
    [[nodiscard]] std::string folder() const { return "/proc/" + std::to_string(pid_); }

  private:
    pid_t pid_ = -1;
    int end_ = -1;
    bool entered_ = false;
};

bool write_to(const std::string& path, const std::string& text) {
    const auto file = open_file(path, O_WRONLY);
    return file &&
           ::write(file->get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

bool map_users(const std::string& process, const std::string& map) {
    return write_to(process + "/uid_map", map);
}

class RealParty : public ::testing::Test {
  protected:
    void SetUp() override {
        if (::geteuid() != 0) GTEST_SKIP() << "only root may become others";
        struct stat facts {};
        if (::stat("/proc/self/ns/user", &facts) != 0 || facts.st_ino != 0xEFFFFFFD)
            GTEST_SKIP() << "not in the machine's own namespaces";
    }
};

TEST_F(RealParty, OfThisProcessIsRoot) { EXPECT_EQ(*read_party("/proc/self"), root_party); }

TEST_F(RealParty, ANamespaceOfAUserIsThatUser) {
    const Child child(
        [] { return ::setresuid(1234, 1234, 1234) == 0 && ::unshare(CLONE_NEWUSER) == 0; });
    if (!child.entered()) GTEST_SKIP() << "this machine gives users no namespaces";
    // With a range of subordinate users, mapped like newuidmap(1) does; it becomes one of them.
    ASSERT_TRUE(map_users(child.folder(), "0 100000 65536"));
    EXPECT_EQ(*read_party(child.folder()), 1234U);
    EXPECT_EQ(read_party(child.folder(), 100000), 1234U);
}

TEST_F(RealParty, RootOfANamespaceThatRootMadeIsNotTheMachines) {
    const Child child([] { return ::unshare(CLONE_NEWUSER) == 0; });
    if (!child.entered()) GTEST_SKIP() << "this machine has no user namespaces";
    ASSERT_TRUE(map_users(child.folder(), "0 0 1"));
    struct stat facts {};
    ASSERT_EQ(::stat((child.folder() + "/ns/user").c_str(), &facts), 0);
    EXPECT_EQ(*read_party(child.folder()), facts.st_ino);
}

TEST_F(RealParty, NamespacesInsideCountAsTheOutermost) {
    const Child child([] {
        // A user that is unmapped in the outer namespace cannot create an inner one. It can map
        // itself if it is dumpable.
        return ::setresgid(1234, 1234, 1234) == 0 && ::setresuid(1234, 1234, 1234) == 0 &&
               ::unshare(CLONE_NEWUSER) == 0 && ::prctl(PR_SET_DUMPABLE, 1) == 0 &&
               map_users("/proc/self", "0 1234 1") && write_to("/proc/self/setgroups", "deny") &&
               write_to("/proc/self/gid_map", "0 1234 1") && ::unshare(CLONE_NEWUSER) == 0;
    });
    if (!child.entered()) GTEST_SKIP() << "this machine gives users no namespaces";
    EXPECT_EQ(*read_party(child.folder()), 1234U);
}

TEST(ProcessPartyOfNobody, IsAnError) { EXPECT_FALSE(read_party("/proc/0")); }

}  // namespace
}  // namespace lagtrap::daemon::process_party_test
