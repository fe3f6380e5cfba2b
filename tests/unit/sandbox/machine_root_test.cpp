#include "sandbox/machine_root.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace lagtrap::machine_root_test {
namespace {

TEST(MachineRoot, StandsBeforeNamesOfTheMachine) {
    EXPECT_EQ(on_machine("/usr/bin/redis-server", "/host"), "/host/usr/bin/redis-server");
    EXPECT_EQ(on_machine("/usr/bin/redis-server", "/"), "/usr/bin/redis-server");
    EXPECT_EQ(on_machine("program", "/host"), "program");
    EXPECT_EQ(on_machine("/proc/12/exe", "/host"), "/proc/12/exe");
}

TEST(MachineRoot, IsTakenOffAgain) {
    EXPECT_EQ(name_on_machine("/host/usr/bin/redis-server", "/host"), "/usr/bin/redis-server");
    EXPECT_EQ(name_on_machine("/hostile/bin/redis-server", "/host"), "/hostile/bin/redis-server");
    EXPECT_EQ(name_on_machine("/host", "/host"), "/");
    EXPECT_EQ(name_on_machine("/usr/bin/redis-server", "/"), "/usr/bin/redis-server");
}

TEST(MachineRoot, IsTheRootFolderWhereNothingElseIsSaid) {
    EXPECT_EQ(machine_root(), "/");
    EXPECT_EQ(real_path_on_machine("/proc/self/exe").filename(), "sandbox_tests");
    EXPECT_FALSE(facts_on_machine("/no/such/file"));
}

// Exits with the number of the first check that fails; the root is read once per process.
[[noreturn]] void check_another_root() {
    namespace fs = std::filesystem;
    const fs::path root = fs::path(::testing::TempDir()) / ("root-" + std::to_string(::getpid()));
    fs::create_directories(root / "etc");
    std::ofstream(root / "etc/os-release") << "Debian";
    fs::create_symlink("/etc/os-release", root / "etc/link");
    ::setenv("LAGTRAP_MACHINE_ROOT", (root.string() + "/x/..").c_str(), 1);
    int failed = 0;
    auto check = [&, number = 0](bool good) mutable {
        ++number;
        if (!good && failed == 0) failed = number;
    };
    check(machine_root() == root || machine_root() == root / "");
    check(on_machine("/etc/os-release").lexically_normal() == root / "etc/os-release");
    const auto facts = facts_on_machine("/etc/os-release");
    check(facts && facts->st_size == 6);
    const auto through_link = facts_on_machine("/etc/link");
    check(through_link && through_link->st_size == 6);
    check(!facts_on_machine("/etc/absent") && errno == ENOENT);
    check(real_path_on_machine("/etc/link") == "/etc/os-release");
    check(real_path_on_machine("/etc/absent").empty());
    fs::remove_all(root);
    std::_Exit(failed);
}

TEST(MachineRootDeathTest, IsThatOfTheEnvironment) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(check_another_root(), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void check_relative_root() {
    ::setenv("LAGTRAP_MACHINE_ROOT", "host", 1);
    std::_Exit(machine_root() == "/" ? 0 : 1);
}

TEST(MachineRootDeathTest, IsAWholePath) {
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
    EXPECT_EXIT(check_relative_root(), ::testing::ExitedWithCode(0), "");
}

TEST(MachineRoot, IsNotTakenOffTheRootOfAll) {
    EXPECT_EQ(name_on_machine("/", "/host"), "/");
    EXPECT_EQ(on_machine("/proc", "/host"), "/host/proc");
}

}  // namespace
}  // namespace lagtrap::machine_root_test
