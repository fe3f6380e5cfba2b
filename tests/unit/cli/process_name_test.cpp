#include "cli/control/process_name.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::process_name_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ProcessNames : public testing::Test {
  protected:
    void add(const std::string& pid, const std::string& comm, const std::string& command = "",
             const std::string& group = "") {
        const auto process = proc_.path() / pid;
        std::filesystem::create_directories(process);
        std::ofstream(process / "comm") << comm << "\n";
        std::ofstream(process / "cmdline") << command;
        std::ofstream(process / "cgroup") << group;
    }
    std::string problem(const std::string& text) {
        const auto found = find_process(text, proc_.path());
        return found ? "found " + std::to_string(*found) : found.error().message;
    }
    test::TemporaryFolder proc_;
};

TEST_F(ProcessNames, AreNumbersOrNames) {
    add("7", "shop");
    EXPECT_EQ(problem("7"), "found 7");
    EXPECT_EQ(problem("shop"), "found 7");
    EXPECT_EQ(problem("8"), "no process 8");
    EXPECT_EQ(problem("sho"), "no process is named sho; \"ps -e\" lists running processes");
    EXPECT_EQ(problem("a\nb"), "no process is named a\\x0ab; \"ps -e\" lists running processes");
    EXPECT_EQ(find_process("8", proc_.path()).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(find_process("sho", proc_.path()).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(problem("0"), "no process is named 0; \"ps -e\" lists running processes");
    EXPECT_EQ(problem("7x"), "no process is named 7x; \"ps -e\" lists running processes");
}

TEST_F(ProcessNames, AreAlsoThoseOfTheProgram) {
    add("7", "worker 1");
    std::filesystem::create_symlink("/opt/shop/bin/shopd", proc_.path() / "7" / "exe");
    EXPECT_EQ(problem("shopd"), "found 7") << "its thread has another name";
    EXPECT_EQ(problem("worker 1"), "found 7");
    EXPECT_THAT(processes_named("bin", proc_.path()), IsEmpty());
}

TEST_F(ProcessNames, SeveralProcessesAreListedWithTheirCommands) {
    using namespace std::string_literals;
    add("7", "shop", "shop\0--port\0\x01\0\0"s);
    add("12", "shop", std::string(61, 'x'));
    add("self", "shop");
    EXPECT_EQ(problem("shop"),
              "2 processes are named shop; choose one by its id:\n"
              "        7  shop --port \\x01\n"
              "       12  " +
                  std::string(60, 'x'));
    EXPECT_EQ(find_process("shop", proc_.path()).error().kind, ErrorKind::Invalid);
    for (int pid = 20; pid < 28; ++pid) add(std::to_string(pid), "shop", "c");
    EXPECT_THAT(problem("shop"), testing::EndsWith("\n       27  c"));
    add("100", "shop", "c");
    add("101", "shop", "c");
    EXPECT_THAT(problem("shop"), testing::StartsWith("12 processes are named shop"));
    EXPECT_THAT(problem("shop"), testing::EndsWith("\n       27  c\n  and 2 more"));
    EXPECT_THAT(processes_named("shop", proc_.path()),
                ElementsAre(7, 12, 20, 21, 22, 23, 24, 25, 26, 27, 100, 101));
}

TEST_F(ProcessNames, ProcessesOfAUnitAreInItsControlGroup) {
    add("7", "a", "", "0::/system.slice/shop.service\n");
    add("8", "b", "", "12:cpu:/other\n0::/system.slice/shop.service/workers\n");
    add("9", "c", "", "0::/system.slice/shop.service.d\n");
    add("10", "d", "", "shop.service");
    add("11", "e");
    std::filesystem::remove(proc_.path() / "11" / "cgroup");
    EXPECT_THAT(processes_of_unit("shop.service", proc_.path()), ElementsAre(7, 8));
    EXPECT_TRUE(is_in_unit(proc_.path() / "8", "workers"));
    EXPECT_FALSE(is_in_unit(proc_.path() / "7", "workers"));
}

}  // namespace
}  // namespace lagtrap::cli::process_name_test
