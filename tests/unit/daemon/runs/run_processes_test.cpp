#include "daemon/runs/run_processes.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include <gtest/gtest.h>

namespace lagtrap::daemon::run_processes_test {
namespace {

constexpr const char* program = "/proc/self/exe";

// A folder without any process.
class RunProcessesTest : public testing::Test {
  protected:
    RunProcessesTest() {
        char name[] = "/tmp/lagtrap-run-processes-XXXXXX";
        empty_ = ::mkdtemp(name);
    }
    ~RunProcessesTest() override { std::filesystem::remove_all(empty_); }

    static lagtrap_process_report report_of(std::uint64_t process) {
        struct stat facts {};
        EXPECT_EQ(::stat(program, &facts), 0);
        lagtrap_process_report report{};
        report.process = process;
        report.pid = static_cast<__u32>(::getpid());
        report.program_inode = facts.st_ino;
        report.program_device = program_file_at(program).value().device;
        std::strcpy(report.comm, "brief");
        return report;
    }

    std::filesystem::path empty_;
};

TEST_F(RunProcessesTest, a_process_that_has_ended_is_named_by_its_program_if_that_is_expected) {
    RunProcesses processes(empty_);
    processes.expect({"/nonexistent", "/etc/passwd", program});
    processes.take(report_of(7));
    const RunProcess& found = processes.find(7, static_cast<std::uint32_t>(::getpid()), 0);
    EXPECT_EQ(found.name, "brief");
    EXPECT_EQ(found.executable, program);
    EXPECT_EQ(found.build_id.size(), 40U);
}

// Unit and container are read together with the process's identity.
TEST_F(RunProcessesTest, units_and_containers_are_named) {
    const std::string id(64, 'c');
    std::filesystem::create_directories(empty_ / "31");
    std::filesystem::create_directories(empty_ / "32");
    std::ofstream(empty_ / "31/cgroup") << "0::/system.slice/docker-" << id << ".scope\n";
    std::ofstream(empty_ / "32/cgroup") << "0::/system.slice/nginx.service\n";
    RunProcesses processes(empty_, [&](const std::string& asked) {
        return asked == id ? trace::ContainerName{"web", "nginx:1", "", ""}
                           : trace::ContainerName{};
    });
    EXPECT_EQ(processes.find(1, 31, 0).unit, "container web");
    EXPECT_EQ(processes.find(2, 32, 0).unit, "nginx.service");
    EXPECT_EQ(processes.find(3, 33, 0).unit, "");
}

TEST_F(RunProcessesTest, a_process_of_a_program_that_nobody_knows_has_none) {
    RunProcesses processes(empty_);
    processes.expect({"/etc/passwd"});
    processes.take(report_of(7));
    const RunProcess& found = processes.find(7, static_cast<std::uint32_t>(::getpid()), 0);
    EXPECT_EQ(found.executable + found.build_id, "");
}

// As a linker or a copy rewrites it: the inode stays.
TEST_F(RunProcessesTest, a_program_that_was_rebuilt_in_place_has_its_new_build_id) {
    const std::filesystem::path built = empty_ / "built";
    std::filesystem::copy_file("/bin/sh", built);
    struct stat before {};
    ASSERT_EQ(::stat(built.c_str(), &before), 0);
    RunProcesses processes(empty_);
    processes.expect({built, program});
    lagtrap_process_report report = report_of(7);
    report.program_inode = before.st_ino;
    report.program_device = program_file_at(built).value().device;
    processes.take(report);
    const std::string old = processes.find(7, report.pid, 0).build_id;
    EXPECT_EQ(old.size(), 40U);
    struct stat after = before;
    while (after.st_ctim.tv_sec == before.st_ctim.tv_sec &&
           after.st_ctim.tv_nsec == before.st_ctim.tv_nsec) {
        std::ofstream(built, std::ios::binary) << std::ifstream(program, std::ios::binary).rdbuf();
        ASSERT_EQ(::stat(built.c_str(), &after), 0);
    }
    ASSERT_EQ(after.st_ino, before.st_ino);
    report.process = 8;
    processes.take(report);
    EXPECT_EQ(processes.find(8, report.pid, 0).executable, built);
    EXPECT_NE(processes.find(8, report.pid, 0).build_id, old);
    processes.take(report_of(9));
    EXPECT_EQ(processes.find(8, report.pid, 0).build_id, processes.find(9, report.pid, 0).build_id);
}

// Its number now belongs to another process, or it became another program.
TEST_F(RunProcessesTest, what_the_kernel_said_counts_more_than_who_has_the_number_now) {
    RunProcesses processes;
    processes.expect({"/bin/sh"});
    struct stat shell {};
    ASSERT_EQ(::stat("/bin/sh", &shell), 0);
    lagtrap_process_report report = report_of(8);
    report.program_inode = shell.st_ino;
    report.program_device = program_file_at("/bin/sh").value().device;
    processes.take(report);
    EXPECT_EQ(processes.find(8, report.pid, 0).executable, "/bin/sh");
    processes.take(report_of(9));
    EXPECT_EQ(processes.find(9, report.pid, 0).executable, std::filesystem::read_symlink(program));
}

}  // namespace
}  // namespace lagtrap::daemon::run_processes_test
