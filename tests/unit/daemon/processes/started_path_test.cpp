// The name of a file by which a program was started, and what the log says about the process that
// began a run; with a /proc made of files.
#include "daemon/processes/started_path.hpp"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "daemon/events/run_words.hpp"

namespace lagtrap::daemon::started_path_test {
namespace {

namespace fs = std::filesystem;

class Process : public testing::Test {
  protected:
    Process() : proc_(fs::path(testing::TempDir()) / fmt::format("started-{}", ::getpid())) {
        fs::create_directories(proc_ / "77/task/79");
        fs::create_directories(bin());
        fs::create_directories(proc_ / "root/opt");
        std::ofstream(bin() / "check") << "a program";
        std::ofstream(bin() / "other") << "another program";
        fs::create_symlink("check", bin() / "server");
        fs::create_hard_link(bin() / "check", bin() / "twin");
        fs::create_symlink("../usr/bin/check", proc_ / "root/opt/tool");
        fs::create_symlink(proc_ / "root", proc_ / "77/root");
        fs::create_symlink(bin() / "check", proc_ / "77/exe");
        std::ofstream(proc_ / "77/comm") << "check\n";
        std::ofstream(proc_ / "77/task/79/comm") << "VM Thread\n";
    }
    ~Process() override { fs::remove_all(proc_); }

    [[nodiscard]] fs::path bin() const { return proc_ / "root/usr/bin"; }
    [[nodiscard]] std::string started(const std::string& command) const {
        return started_path(proc_ / "77", "/usr/bin/check", command);
    }
    void call_itself(const std::string& name) const {
        std::ofstream(proc_ / "77/comm") << name << "\n";
    }

    fs::path proc_;
};

TEST_F(Process, IsNamedAsItWasStarted) {
    EXPECT_EQ(started("/usr/bin/server"), "/usr/bin/server");
    EXPECT_EQ(started("/usr/bin/server 127.0.0.1:6379"), "/usr/bin/server");
    EXPECT_EQ(started("server"), "/usr/bin/server");
    EXPECT_EQ(started("-server"), "/usr/bin/server");
    EXPECT_EQ(started("server: worker"), "/usr/bin/server");
    EXPECT_EQ(started("/usr/bin/twin"), "/usr/bin/twin");
    EXPECT_EQ(started("/opt/tool"), "/opt/tool");
    EXPECT_EQ(started("./bin/server"), "/usr/bin/server");
}

TEST_F(Process, KeepsItsFilesNameWhereThatIsTrue) {
    EXPECT_EQ(started("/usr/bin/check"), "");
    EXPECT_EQ(started("check"), "");
    EXPECT_EQ(started(""), "");
}

TEST_F(Process, IsNotBelievedWhereTheFileIsAnotherOne) {
    EXPECT_EQ(started("/usr/bin/other"), "");
    EXPECT_EQ(started("other"), "");
    EXPECT_EQ(started("/usr/bin/nothing"), "");
    EXPECT_EQ(started("/proc/self/exe"), "");
    EXPECT_EQ(started("../../../../../../etc/passwd"), "");
}

TEST_F(Process, IsNamedByItselfWhereItsArgumentsSayNothing) {
    call_itself("server");
    EXPECT_EQ(started("worker process"), "/usr/bin/server");
    call_itself("other");
    EXPECT_EQ(started("worker process"), "");
    call_itself("a/../server");
    EXPECT_EQ(started("worker process"), "");
}

lagtrap_run run_of(std::uint32_t tid, const std::string& comm) {
    lagtrap_run run{};
    run.begin_pid = 77;
    run.begin_tid = tid;
    std::memcpy(run.comm, comm.data(), std::min(comm.size(), sizeof(run.comm)));
    return run;
}

TEST_F(Process, IsInTheLogBesideItsThread) {
    const std::string program = (bin() / "check").string();
    EXPECT_EQ(words_of_beginner(run_of(79, "GC Thread#0"), proc_),
              "GC Thread#0 (79) of check (77, " + program + ")");
    EXPECT_EQ(words_of_beginner(run_of(79, ""), proc_),
              "VM Thread (79) of check (77, " + program + ")");
    EXPECT_EQ(words_of_beginner(run_of(77, "check"), proc_), "check (77, " + program + ")");
    EXPECT_EQ(words_of_beginner(run_of(79, "evil\n"), proc_),
              "evil\\x0a (79) of check (77, " + program + ")");
}

TEST_F(Process, IsANumberInTheLogWhenItHasEnded) {
    const fs::path gone = proc_ / "root";
    EXPECT_EQ(words_of_beginner(run_of(79, "worker"), gone), "worker (79) of process 77");
    EXPECT_EQ(words_of_beginner(run_of(79, ""), gone), "thread 79 of process 77");
    EXPECT_EQ(words_of_beginner(run_of(77, ""), gone), "process 77");
}

}  // namespace
}  // namespace lagtrap::daemon::started_path_test
