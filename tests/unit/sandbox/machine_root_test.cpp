#include "sandbox/machine_root.hpp"

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

}  // namespace
}  // namespace lagtrap::machine_root_test
