#include "daemon/processes/process_credentials.hpp"

#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::process_credentials_test {
namespace {

ProcessCredentials of_user_1000() {
    return {{1000, 1000, 1000, 1000}, {100, 100, 100, 100}, 0, 1000};
}

Status check(const ProcessCredentials& process) { return check_owner(process, 1000, {27, 100}); }

TEST(ProcessCredentials, AreReadFromTheStatus) {
    const auto process = parse_process_credentials(
        "Name:\ta\nUid:\t1000\t0\t1\t2\nGid:\t100\t5\t6\t7\nCapInh:\t0\nCapPrm:"
        "\t000001ffffffffff\n");
    ASSERT_TRUE(process);
    EXPECT_EQ(process->users, (std::array<uid_t, 4>{1000, 0, 1, 2}));
    EXPECT_EQ(process->groups, (std::array<gid_t, 4>{100, 5, 6, 7}));
    EXPECT_EQ(process->permitted_capabilities, 0x1ffffffffffU);
}

TEST(ProcessCredentials, AreNotGuessedWhereALineIsMissing) {
    for (const char* status :
         {"", "\nUid:\t1\t1\t1\nGid:\t1\t1\t1\t1\nCapPrm:\t0\n", "\nUid:\t1\t1\t1\t1\nCapPrm:\t0\n",
          "\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nCapPrm:\tx\n"})
        EXPECT_FALSE(parse_process_credentials(status)) << status;
}

TEST(ProcessCredentials, OfThisProcessAreItsOwn) {
    const auto process = read_process_credentials(static_cast<std::uint32_t>(::getpid()));
    ASSERT_TRUE(process);
    EXPECT_EQ(process->users.front(), ::getuid());
    EXPECT_EQ(process->groups.front(), ::getgid());
    EXPECT_FALSE(read_process_credentials(0xffffffff));
}

TEST(ProcessCredentials, ItsOwnerMayTraceAProcess) { EXPECT_TRUE(check(of_user_1000())); }

TEST(ProcessCredentials, NobodyTracesAProcessWithRightsOfAnother) {
    for (std::size_t one = 0; one < 4; ++one) {
        ProcessCredentials process = of_user_1000();
        process.users.at(one) = 0;
        EXPECT_FALSE(check(process)) << "user id " << one;
        process = of_user_1000();
        process.groups.at(one) = 42;
        EXPECT_FALSE(check(process)) << "group id " << one;
    }
    ProcessCredentials process = of_user_1000();
    process.permitted_capabilities = 1U << 13U;
    EXPECT_FALSE(check(process)) << "a program with file capabilities";
    process = of_user_1000();
    process.folder_user = 0;
    const Status refused = check(process);
    ASSERT_FALSE(refused) << "a process that may not be dumped";
    EXPECT_EQ(refused.error().kind, ErrorKind::Denied);
    EXPECT_EQ(refused.error().message,
              "user 1000 may trace only their own processes, and this one may not be read by its "
              "user (<control trace=...> in the settings)");
}

}  // namespace
}  // namespace lagtrap::daemon::process_credentials_test
