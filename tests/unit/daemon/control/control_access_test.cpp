#include "daemon/control/control_access.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/unique_fd.hpp"

namespace lagtrap::daemon::control_access_test {
namespace {

using settings::Callers;

// the group of the settings: root's own, which exists on every machine
constexpr gid_t members = 0;
constexpr gid_t others = 65'500;

struct Command {
    const char* name;
    Right right;
};
constexpr Command commands[]{
    {"status", Right::Read},     {"trigger", Right::Change}, {"approve", Right::Change},
    {"decline", Right::Change},  {"record", Right::Change},  {"calls", Right::Trace},
    {"functions", Right::Trace}, {"objects", Right::Trace},  {"", Right::Trace},
    {"unknown", Right::Trace},   {"STATUS", Right::Trace},   {"status ", Right::Trace},
};
constexpr Callers all_callers[]{Callers::Root, Callers::Group, Callers::Anyone};

bool is_trace(const std::string& command) {
    return command == "calls" || command == "functions" || command == "objects";
}

bool among(Callers callers, const Caller& caller) {
    if (caller.uid == 0 || callers == Callers::Anyone) return true;
    return callers == Callers::Group && caller.groups.front() == members;
}

void check(const settings::Control& control, const Caller& caller) {
    const auto access = ControlAccess::create(control);
    ASSERT_TRUE(access);
    for (const Command& command : commands) {
        const Callers needed = command.right == Right::Read     ? control.read
                               : command.right == Right::Change ? control.change
                                                                : control.trace;
        const bool full = among(needed, caller);
        const bool own = !full && is_trace(command.name) && among(control.read, caller);
        const auto grant = access->grant(caller, command.name);
        ASSERT_EQ(static_cast<bool>(grant), full || own)
            << "\"" << command.name << "\" by user " << caller.uid;
        if (grant) {
            EXPECT_EQ(grant->own_processes_only, own) << command.name;
        } else {
            EXPECT_EQ(grant.error().kind, ErrorKind::Denied);
        }
    }
}

TEST(ControlAccess, GrantsWhatTheSettingsSayForEveryCommandAndCaller) {
    for (const Callers read : all_callers)
        for (const Callers change : {Callers::Root, Callers::Group})
            for (const Callers trace : {Callers::Root, Callers::Group})
                for (const Caller& caller :
                     {Caller{0, {others}}, Caller{1000, {members}}, Caller{1000, {others}}}) {
                    settings::Control control;
                    control.group = "root";
                    control.read = read;
                    control.change = change;
                    control.trace = trace;
                    check(control, caller);
                }
}

TEST(ControlAccess, IsRootsAloneByDefault) {
    const auto access = ControlAccess::create({});
    ASSERT_TRUE(access);
    for (const Command& command : commands) {
        EXPECT_TRUE(access->grant({0, {}}, command.name));
        EXPECT_FALSE(access->grant({1000, {members}}, command.name)) << command.name;
    }
    EXPECT_EQ(access->socket_mode(), 0600U);
}

// Members of the group may not look into memory unless the settings allow it.
TEST(ControlAccess, TracingIsNoPartOfChanging) {
    settings::Control control;
    control.group = "root";
    const auto access = ControlAccess::create(control);
    ASSERT_TRUE(access);
    const Caller member{1000, {members}};
    EXPECT_TRUE(access->grant(member, "trigger"));
    const auto traces = access->grant(member, "objects");
    ASSERT_TRUE(traces);
    EXPECT_TRUE(traces->own_processes_only);
}

TEST(ControlAccess, SaysWhoMayAndWhichAttributeSaysSo) {
    settings::Control control;
    control.group = "root";
    control.read = Callers::Root;
    control.trace = Callers::Group;
    const auto access = ControlAccess::create(control);
    ASSERT_TRUE(access);
    EXPECT_EQ(
        access->grant({1000, {others}}, "status").error().message,
        "user 1000 may not read the status: only root may (<control read=...> in the settings)");
    EXPECT_EQ(access->grant({1000, {others}}, "decline").error().message,
              "user 1000 may not start, approve or decline recordings: root and the group root may "
              "(<control change=...> in the settings)");
    EXPECT_EQ(access->grant({1000, {others}}, "objects").error().message,
              "user 1000 may not trace other users' processes: root and the group root may "
              "(<control trace=...> in the settings)");
}

TEST(ControlAccess, LetsOnlyThoseConnectWhoHaveARight) {
    settings::Control control;
    control.group = "root";
    const auto mode = [&control] { return ControlAccess::create(control)->socket_mode(); };
    EXPECT_EQ(mode(), 0660U);
    control.read = control.change = Callers::Root;
    EXPECT_EQ(mode(), 0600U);
    control.trace = Callers::Group;
    EXPECT_EQ(mode(), 0660U);
    control.read = Callers::Anyone;
    EXPECT_EQ(mode(), 0666U);
}

TEST(ControlAccess, TheCallerIsWhoeverConnected) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    const UniqueFd one(ends[0]), other(ends[1]);
    std::vector<gid_t> groups(static_cast<std::size_t>(::getgroups(0, nullptr)));
    ASSERT_EQ(::getgroups(static_cast<int>(groups.size()), groups.data()),
              static_cast<int>(groups.size()));
    groups.push_back(::getegid());  // the primary group counts like the others
    const auto caller = caller_at(one.get());
    ASSERT_TRUE(caller) << caller.error().message;
    EXPECT_EQ(caller->pid, ::getpid());
    EXPECT_EQ(caller->uid, ::geteuid());
    EXPECT_THAT(caller->groups, testing::UnorderedElementsAreArray(groups));
}

TEST(ControlAccess, AFileHasNoCaller) {
    const auto caller = caller_at(STDIN_FILENO);
    ASSERT_FALSE(caller);
    EXPECT_THAT(caller.error().message, testing::HasSubstr("SO_PEERCRED"));
}

}  // namespace
}  // namespace lagtrap::daemon::control_access_test
