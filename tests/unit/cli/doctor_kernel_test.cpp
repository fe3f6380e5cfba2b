// Every line about the kernel, whatever it answers.
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "cli/doctor/doctor_findings.hpp"
#include "sandbox/machine_root.hpp"
#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::doctor_kernel_test {
namespace {

using bpf::Answer;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const names[] = {"btf",
                             "kprobe-programs",
                             "uprobe-events",
                             "uprobe-multi",
                             "cookies",
                             "loops",
                             "ring-buffer",
                             "tracepoint-programs",
                             "detached-tracefs",
                             "tracing-programs",
                             "perf-event-programs",
                             "sampler",
                             "run-time-statistics"};

std::string line_of(const Finding& finding) {
    const char* const healths[] = {"works", "otherwise", "missing", "unknown"};
    return finding.name + "|" + healths[static_cast<int>(finding.health)] + "|" +
           (finding.needed ? "needed" : "extra") + "|" + finding.reason + "|" + finding.advice;
}

class DoctorKernel : public testing::Test {
  protected:
    void write(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root_.path() / path).parent_path());
        std::ofstream(root_.path() / path) << text;
    }
    [[nodiscard]] std::string line(const std::string& name,
                                   const std::vector<std::string>& missing = {}) const {
        for (const Finding& finding : kernel_findings({}, missing, root_.path()))
            if (finding.name == name) return line_of(finding);
        return "none";
    }
    test::TemporaryFolder root_;
};

TEST_F(DoctorKernel, EveryFeatureHasItsWords) {
    std::string text;
    for (const Answer answer : {Answer::Has, Answer::Lacks, Answer::Refused}) {
        std::vector<bpf::Feature> features{{"unknown", answer, ""}};
        for (const char* name : names) features.push_back({name, answer, "EINVAL"});
        const auto findings = kernel_findings(features, {}, root_.path());
        for (std::size_t i = 0; i < std::size(names); ++i)
            text += std::string(names[i]) + ": " + line_of(findings.at(i + 2)) + "\n";
    }
    test::expect_text(text, "doctor_features.txt");
}

TEST_F(DoctorKernel, FilesThatAreNotThereRestrictNothing) {
    std::string text;
    for (const char* name :
         {"lockdown", "kernel symbols", "perf_event_paranoid", "unprivileged BPF", "ptrace_scope",
          "bpf_stats_enabled", "clock source", "cgroup v2", "your privileges"})
        text += line(name) + "\n";
    test::expect_text(text, "doctor_without_files.txt");
}

TEST_F(DoctorKernel, FilesAreShown) {
    write("sys/kernel/security/lockdown", "none [integrity] confidentiality\nsecond line\n");
    write("proc/sys/kernel/kptr_restrict", "0\n");
    write("proc/sys/kernel/perf_event_paranoid", "3\n");
    write("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
    write("proc/sys/kernel/yama/ptrace_scope", "1\n");
    write("proc/sys/kernel/bpf_stats_enabled", "0\n");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    write("sys/fs/cgroup/cgroup.controllers", "cpu\n");
    write("sys/devices/system/cpu/online", "0-7\n");
    EXPECT_EQ(line("lockdown"), "lockdown|works|needed|none [integrity] confidentiality|");
    EXPECT_EQ(line("kernel symbols"), "kernel symbols|works|extra|kptr_restrict is 0|");
    EXPECT_THAT(line("perf_event_paranoid"), HasSubstr("|works|extra|3; irrelevant"));
    EXPECT_THAT(line("unprivileged BPF"), HasSubstr("unprivileged_bpf_disabled is 2; "));
    EXPECT_THAT(line("ptrace_scope"), HasSubstr("|works|extra|1; the daemon reads processes"));
    EXPECT_EQ(line("bpf_stats_enabled"), "bpf_stats_enabled|works|extra|0|");
    EXPECT_EQ(line("clock source"), "clock source|works|extra|tsc|");
    EXPECT_EQ(line("cgroup v2"), "cgroup v2|works|extra|the service manager can limit the daemon|");
    EXPECT_EQ(line("CPUs"), "CPUs|works|extra|" + std::to_string(::sysconf(_SC_NPROCESSORS_ONLN)) +
                                " online (0-7)|");
}

TEST_F(DoctorKernel, FilesThatRestrictSaySo) {
    write("sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
    write("proc/sys/kernel/kptr_restrict", "2\n");
    write("proc/sys/kernel/bpf_stats_enabled", "1\n");
    write("sys/devices/system/clocksource/clocksource0/current_clocksource",
          "hp\x1b"
          "et\n");
    EXPECT_EQ(line("lockdown"),
              "lockdown|missing|needed|kernel lockdown is in confidentiality mode: BPF cannot read "
              "memory|boot with lockdown=integrity, or disable Secure Boot's lockdown");
    EXPECT_EQ(line("kernel symbols"),
              "kernel symbols|otherwise|extra|kptr_restrict is 2: kernel functions have no "
              "names|sysctl kernel.kptr_restrict=1");
    EXPECT_EQ(line("bpf_stats_enabled"),
              "bpf_stats_enabled|otherwise|extra|1: the kernel times every BPF program all the "
              "time|sysctl kernel.bpf_stats_enabled=0; lagtrap enables it when needed");
    EXPECT_EQ(line("clock source"),
              "clock source|otherwise|extra|hp\\x1bet: reading the clock takes about a "
              "microsecond|markers cost more; use tsc if it is stable on this machine");
    for (const char* source : {"kvm-clock", "hyperv_clocksource_tsc_page"}) {
        write("sys/devices/system/clocksource/clocksource0/current_clocksource", source);
        EXPECT_EQ(line("clock source"), std::string("clock source|works|extra|") + source + "|");
    }
}

TEST_F(DoctorKernel, PrivilegesAreListed) {
    EXPECT_EQ(line("your privileges", {"CAP_BPF", "CAP_SYSLOG"}),
              "your privileges|otherwise|extra|missing CAP_BPF, CAP_SYSLOG|only root can check the "
              "lines marked so below; the daemon gets its privileges from its service");
}

TEST_F(DoctorKernel, ThisMachineIsDescribed) {
    utsname machine{};
    ASSERT_EQ(::uname(&machine), 0);
    EXPECT_EQ(line("kernel"),
              std::string("kernel|works|needed|Linux ") + machine.release + " on x86_64|");
    rlimit limit{};
    ASSERT_EQ(::getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    const std::string shown = limit.rlim_cur == RLIM_INFINITY
                                  ? "no limit"
                                  : std::to_string(limit.rlim_cur / 1024) + " KiB";
    EXPECT_EQ(line("locked memory"), "locked memory|works|extra|" + shown +
                                         "; does not limit BPF memory since Linux 5.11|");
    EXPECT_THAT(line("processes"),
                HasSubstr(sees_all_processes()
                              ? "|works|needed|all processes of the machine are visible|"
                              : "|missing|needed|this container cannot see host processes|start "
                                "it in the host's PID namespace: --pid=host, or hostPID: true"));
}

TEST_F(DoctorKernel, LinesComeInThisOrder) {
    std::vector<std::string> order;
    for (const Finding& finding :
         kernel_findings({{"loops", Answer::Has, ""}, {"btf", Answer::Has, ""}}, {}, root_.path()))
        order.push_back(finding.name);
    EXPECT_THAT(order,
                ElementsAre("kernel", "your privileges", "kernel types (BTF)", "loops in BPF",
                            "lockdown", "kernel symbols", "perf_event_paranoid", "unprivileged BPF",
                            "ptrace_scope", "bpf_stats_enabled", "locked memory", "clock source",
                            "cgroup v2", "processes", "CPUs"));
}

}  // namespace
}  // namespace lagtrap::cli::doctor_kernel_test
