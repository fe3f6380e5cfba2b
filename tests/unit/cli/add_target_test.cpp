#include "cli/add/add_target.hpp"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/why/child_command.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::add_target_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// Two workers and a master of a unit, and a process elsewhere.
class AddTargetTest : public testing::Test {
  protected:
    AddTargetTest() {
        fs::create_directories(proc());
        for (const char* name : {"master", "worker", "other", "idle"}) {
            std::ofstream(program(name)) << name;
            fs::permissions(program(name), fs::perms::owner_all);
        }
        add(20, "master", "boss", "/system.slice/shop.service");
        add(21, "worker", "seller", "/system.slice/shop.service");
        add(22, "worker", "buyer", "/system.slice/shop.service");
        add(23, "other", "alone", "/user.slice");
        fs::create_directories(proc() / "30");  // a kernel thread
    }
    [[nodiscard]] fs::path proc() const { return folder_.path() / "proc"; }
    [[nodiscard]] std::string program(const std::string& name) const {
        return (fs::canonical(folder_.path()) / name).string();
    }
    void add(std::uint32_t pid, const char* file, const char* name, const char* group) {
        const fs::path place = proc() / std::to_string(pid);
        fs::create_directories(place);
        fs::create_symlink(program(file), place / "exe");
        std::ofstream(place / "comm") << name << "\n";
        std::ofstream(place / "cmdline") << program(file);
        std::ofstream(place / "cgroup") << "0::" << group << "\n";
        std::ofstream(place / "maps") << "";
    }
    [[nodiscard]] Result<AddTarget> find(const std::string& text) const {
        return find_target(text, proc());
    }
    [[nodiscard]] std::string error(const std::string& text) const {
        const auto found = find(text);
        if (found) return "found " + found->program;
        EXPECT_EQ(found.error().kind, ErrorKind::NotFound);
        return found.error().message;
    }
    static std::vector<std::uint32_t> pids_of(const Result<AddTarget>& target) {
        std::vector<std::uint32_t> pids;
        if (target)
            for (const MappedProcess& process : target->processes) pids.push_back(process.pid);
        return pids;
    }
    test::TemporaryFolder folder_;
};

TEST_F(AddTargetTest, IsAProcess) {
    const auto target = find("22");
    EXPECT_THAT(pids_of(target), ElementsAre(22));
    EXPECT_EQ(target->program, program("worker"));
    EXPECT_EQ(target->name, program("worker"));
    EXPECT_EQ(target->unit, "");
    for (const char* none : {"30", "99"})
        EXPECT_EQ(error(none), "no process " + std::string(none) +
                                   ", or it is a kernel thread, or only root can inspect it");
}

TEST_F(AddTargetTest, MayRunAFileThatIsNotThereAnyMore) {
    EXPECT_FALSE(find("22")->outdated);
    EXPECT_EQ(file_of(*find("22"), find("22")->processes.front()),
              "/proc/22/root" + program("worker"));
    add(24, "worker (deleted)", "old", "/user.slice");
    const auto target = find("24");
    ASSERT_TRUE(target) << target.error().message;
    EXPECT_TRUE(target->outdated);
    EXPECT_EQ(target->program, program("worker"));
    EXPECT_EQ(target->name, program("worker"));
    EXPECT_EQ(file_of(*target, target->processes.front()), "/proc/24/exe");
}

TEST_F(AddTargetTest, IsAUnitWithTheProgramOfMostOfItsProcesses) {
    for (const char* name : {"shop.service", "shop"}) {
        const auto target = find(name);
        EXPECT_THAT(pids_of(target), ElementsAre(21, 22)) << name;
        EXPECT_EQ(target->program, program("worker"));
        EXPECT_EQ(target->unit, "shop.service");
    }
    EXPECT_EQ(error("none.service"), "the unit none.service has no processes");
}

TEST_F(AddTargetTest, IsEachProcessOfAName) {
    EXPECT_THAT(pids_of(find("buyer")), ElementsAre(22));       // its own name
    EXPECT_THAT(pids_of(find("worker")), ElementsAre(21, 22));  // of its program
    EXPECT_EQ(find("buyer")->unit, "");
    // A process goes before a unit.
    add(24, "other", "shop", "/user.slice");
    EXPECT_THAT(pids_of(find("shop")), ElementsAre(24));
    EXPECT_EQ(find("shop")->unit, "");
}

TEST_F(AddTargetTest, IsAProgramAtAPathOrInPATH) {
    const fs::path link = folder_.path() / "link";
    fs::create_symlink("worker", link);
    const auto linked = find(link.string());
    EXPECT_THAT(pids_of(linked), ElementsAre(21, 22));
    EXPECT_EQ(linked->program, program("worker"));
    EXPECT_EQ(linked->name, link.string());
    EXPECT_EQ(error(folder_.string("none")), "no such program: " + folder_.string("none"));
    EXPECT_EQ(error(folder_.path().string()), "no such program: " + folder_.path().string());
    const char* const path = std::getenv("PATH");
    const std::string before = path == nullptr ? "" : path;
    ::setenv("PATH", ("/nowhere::" + folder_.path().string()).c_str(), 1);
    const auto idle = find("idle");
    const std::string none = error("no-such-program");
    ::setenv("PATH", before.c_str(), 1);
    ASSERT_TRUE(idle);
    EXPECT_EQ(idle->program, program("idle"));
    EXPECT_TRUE(idle->processes.empty());
    EXPECT_EQ(none, "no process, unit, or program in PATH is named no-such-program");
}

TEST(ChildCommand, EndsAsInAShell) {
    const auto code_of = [](const std::string& script) {
        auto child = ChildCommand::prepare({"sh", "-c", script});
        EXPECT_TRUE(child);
        EXPECT_TRUE(child->go());
        child->wait();
        EXPECT_TRUE(child->ends_within(std::chrono::nanoseconds(0)));
        return child->exit_code();
    };
    EXPECT_EQ(code_of("exit 0"), 0);
    EXPECT_EQ(code_of("exit 3"), 3);
    EXPECT_EQ(code_of("kill -9 $$"), 128 + 9);
}

TEST(ChildCommand, WaitsUntilItIsToldToGo) {
    ::unsetenv("SUDO_UID");  // whose user could not write to the folder
    const test::TemporaryFolder folder;
    const std::string file = folder.string("made");
    {
        auto child = ChildCommand::prepare({"touch", file});
        ASSERT_TRUE(child);
        EXPECT_FALSE(child->ends_within(std::chrono::nanoseconds(1)));
    }
    EXPECT_FALSE(fs::exists(file)) << "it was not told";
    auto child = ChildCommand::prepare({"touch", file});
    ASSERT_TRUE(child);
    const pid_t pid = child->pid();
    ChildCommand moved = std::move(*child);
    EXPECT_EQ(moved.pid(), pid);
    ASSERT_TRUE(moved.go());
    moved.wait();
    EXPECT_TRUE(fs::exists(file));
}

TEST(ChildCommand, SaysWhyItCannotRun) {
    auto child = ChildCommand::prepare({"/no/such/program", "x"});
    ASSERT_TRUE(child);
    const Status started = child->go();
    ASSERT_FALSE(started);
    EXPECT_EQ(started.error().kind, ErrorKind::NotFound);
    EXPECT_THAT(started.error().message, testing::StartsWith("running /no/such/program"));
    child->wait();
    EXPECT_EQ(child->exit_code(), 127);
}

}  // namespace
}  // namespace lagtrap::cli::add_target_test
