// Each test runs in a child, because a sandbox cannot be undone.
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <future>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/capabilities.hpp"
#include "core/sanitized.hpp"

namespace lagtrap::confinement_test {
namespace {

// The bit of each call that is not refused with EPERM.
int not_refused() {
    int bits = 0;
    int bit = 1;
    const auto look = [&](bool refused) {
        if (!refused) bits |= bit;
        bit <<= 1;
    };
    look(::open("/etc/passwd", O_RDONLY) < 0 && errno == EPERM);
    look(::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
    look(::execl("/bin/true", "true", nullptr) < 0 && errno == EPERM);
    look(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) < 0 && errno == EPERM);
    look(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
             MAP_FAILED &&
         errno == EPERM);
    look(::kill(1, 0) < 0 && errno == EPERM);
    look(::setuid(0) < 0 && errno == EPERM);
    return bits;
}

int status_of_child(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
}

TEST(Confinement, RefusesWhatAReaderDoesNotNeed) {
    const int status = status_of_child([] {
        if (!drop_privileges() || !confine_process({})) return 255;
        return not_refused();
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "a bit for each call that went through";
}

TEST(Confinement, WhoOpensFilesForAnotherMayDoNothingElse) {
    const int status = status_of_child([] {
        Confinement confinement;
        confinement.opens_files = true;
        return confine_process(confinement) ? not_refused() : 255;
    });
    ASSERT_TRUE(WIFEXITED(status));
    const int opening = 1;
    EXPECT_EQ(WEXITSTATUS(status), opening) << "a bit for each call that went through";
}

// As not_refused(), for calls that an inspecting process needs, and for calls that would change
// anything.
int wrongly_answered_to_who_looks() {
    char text[64];
    const int given = ::memfd_create("given", MFD_CLOEXEC);
    if (given < 0 || ::write(given, text, 1) != 1) return 254;
    Confinement confinement;
    confinement.messages = confinement.looks_into_processes = true;
    confinement.file_bytes = 4096;
    if (!confine_process(confinement)) return 255;
    const int file = ::open("/etc/passwd", O_RDONLY);
    int bits = 0;
    if (file < 0 || ::read(file, text, sizeof text) <= 0) bits |= 1;
    if (::readlink("/proc/self/exe", text, sizeof text) <= 0) bits |= 2;
    off_t from = 0;
    if (::sendfile(given, file, &from, 16) != 16) bits |= 4;
    if (::open("/proc/self/mem", O_RDWR) >= 0 || errno != EPERM) bits |= 8;
    if (::write(given, text, 1) >= 0 || errno != EPERM) bits |= 16;
    if (::pwrite(given, text, 1, 0) >= 0 || errno != EPERM) bits |= 32;
    uid_t owner = 1;
    const int users = ::open("/proc/self/ns/user", O_RDONLY);
    if (::ioctl(users, NS_GET_OWNER_UID, &owner) < 0 && errno == EPERM) bits |= 128;
    const int opening = 1;
    return bits | (not_refused() == opening ? 0 : 64);
}

TEST(Confinement, WhoLooksIntoProcessesMayReadAndCopyAndWriteNothing) {
    const int status = status_of_child(wrongly_answered_to_who_looks);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "a bit for each call with another outcome";
}

TEST(Confinement, HoldsForThreadsThatRunAlready) {
    const int status = status_of_child([] {
        std::promise<void> runs;
        std::promise<void> confined;
        auto bits = std::async(std::launch::async, [&runs, begin = confined.get_future()] {
            runs.set_value();
            begin.wait();
            return not_refused();
        });
        runs.get_future().wait();
        if (!confine_process({})) return 255;
        confined.set_value();
        return bits.get();
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "a bit for each call that went through";
}

TEST(Confinement, GivesUpRootForGood) {
    if (::geteuid() != 0) GTEST_SKIP() << "drop root needs root";
    const int status = status_of_child([] {
        if (!drop_privileges()) return 1;
        if (::getuid() == 0 || ::geteuid() == 0 || ::getgid() == 0 || ::getgroups(0, nullptr) != 0)
            return 2;
        return ::setresuid(0, 0, 0) == 0 ? 3 : 0;
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Confinement, AProcessMayStillEndItself) {
    const int status = status_of_child([] {
        if (!drop_privileges() || !confine_process({})) return 1;
        ::raise(SIGKILL);
        return 2;
    });
    EXPECT_TRUE(WIFSIGNALED(status));
}

// The lines of a file in /proc/PID that begin with one of these words, for a child that did `work`
// and then waits.
std::string lines_of_child(const std::function<bool()>& work, const std::string& file,
                           const std::vector<std::string>& begins) {
    std::array<int, 2> ready{}, done{};
    EXPECT_EQ(::pipe(ready.data()), 0);
    EXPECT_EQ(::pipe(done.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ready[0]);
        ::close(done[1]);
        char byte = work() ? 'y' : 'n';
        ::_exit(::write(ready[1], &byte, 1) == 1 && ::read(done[0], &byte, 1) == 0 ? 0 : 1);
    }
    ::close(ready[1]);
    ::close(done[0]);
    char worked = 0;
    EXPECT_EQ(::read(ready[0], &worked, 1), 1);
    EXPECT_EQ(worked, 'y');
    std::ifstream content("/proc/" + std::to_string(child) + "/" + file);
    std::string found;
    for (std::string line; std::getline(content, line);)
        for (const std::string& begin : begins)
            if (line.starts_with(begin))
                found += std::regex_replace(line, std::regex("[ \t]+"), " ") + "\n";
    ::close(ready[0]);
    ::close(done[1]);
    ::waitpid(child, nullptr, 0);
    return found;
}

TEST(Confinement, LimitsMemoryTimeAndFiles) {
    Confinement confinement;
    confinement.address_space_bytes = 3ULL << 30;
    confinement.cpu_seconds = 7;
    confinement.file_bytes = 4096;
    const auto limits_of = [](const Confinement& wanted) {
        return lines_of_child([&] { return confine_process(wanted).ok(); }, "limits",
                              {"Max cpu", "Max file size", "Max core", "Max address"});
    };
    const std::string memory = is_sanitized ? "" : "Max address space 3221225472 3221225472 bytes ";
    const std::string limited = limits_of(confinement);
    EXPECT_NE(limited.find("Max cpu time 7 7 seconds "), std::string::npos) << limited;
    EXPECT_NE(limited.find("Max file size 4096 4096 bytes "), std::string::npos) << limited;
    EXPECT_NE(limited.find("Max core file size 0 0 bytes "), std::string::npos) << limited;
    EXPECT_NE(limited.find(memory), std::string::npos) << limited;
    confinement.address_space_bytes = 0;
    confinement.cpu_seconds = 0;
    const auto own = [](const char* begin) {
        return lines_of_child([] { return true; }, "limits", {begin});
    };
    const std::string free = limits_of(confinement);
    EXPECT_NE(free.find(own("Max cpu")), std::string::npos) << free;
    EXPECT_NE(free.find(own("Max address")), std::string::npos) << free;
}

TEST(Confinement, NeverGainsPrivileges) {
    EXPECT_EQ(lines_of_child([] { return confine_process({}).ok(); }, "status",
                             {"NoNewPrivs:", "Seccomp:"}),
              "NoNewPrivs: 1\nSeccomp: 2\n");
    EXPECT_EQ(lines_of_child([] { return drop_privileges().ok(); }, "status",
                             {"NoNewPrivs:", "CapInh:", "CapPrm:", "CapEff:", "CapAmb:"}),
              "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n"
              "CapAmb: 0000000000000000\nNoNewPrivs: 1\n");
    EXPECT_EQ(lines_of_child([] { return drop_privileges().ok(); }, "oom_score_adj", {"1000"}),
              "1000\n");
}

TEST(Confinement, EndsWithItsParentAndIsNotInspected) {
    const int status = status_of_child([] {
        int signal = 0;
        if (!drop_privileges() || ::prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0) != 0) return 1;
        return signal == SIGKILL && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 2;
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Confinement, KeepsOnlyTheCapabilitiesThatItHasAndNames) {
    if (::geteuid() != 0) GTEST_SKIP() << "capabilities need root";
    const auto kept = [](std::initializer_list<int> named) {
        return lines_of_child([&] { return keep_capabilities(named).ok(); }, "status",
                              {"CapInh:", "CapPrm:", "CapEff:"});
    };
    const auto own = own_capabilities();
    if (!own || !own->has(CAP_KILL) || !own->has(CAP_CHOWN))
        GTEST_SKIP() << "needs CAP_KILL and CAP_CHOWN";
    EXPECT_EQ(kept({CAP_KILL, CAP_CHOWN}),
              "CapInh: 0000000000000000\nCapPrm: 0000000000000021\nCapEff: 0000000000000021\n");
    EXPECT_EQ(kept({}),
              "CapInh: 0000000000000000\nCapPrm: 0000000000000000\nCapEff: 0000000000000000\n");
}

// Bits for what works: messages, changes of an open file, plain output.
int works_with(const Confinement& confinement) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return 100;
    const int file = ::memfd_create("file", MFD_CLOEXEC);
    if (!confine_process(confinement)) return 101;
    char byte = 'x';
    int bits = 0;
    if (::send(ends[0], &byte, 1, 0) == 1 && ::recv(ends[1], &byte, 1, 0) == 1) bits |= 1;
    if (::pwrite(file, &byte, 1, 0) == 1 && ::ftruncate(file, 0) == 0 && ::fsync(file) == 0 &&
        ::fchmod(file, 0640) == 0)
        bits |= 2;
    if (::write(file, &byte, 1) == 1) bits |= 4;
    return bits;
}

TEST(Confinement, AllowsWhatEachKindOfTaskNeeds) {
    const auto working = [](bool messages, bool output_files) {
        const int status = status_of_child([&] {
            Confinement confinement;
            confinement.file_bytes = 4096;
            confinement.messages = messages;
            confinement.output_files = output_files;
            return works_with(confinement);
        });
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    };
    EXPECT_EQ(working(false, false), 4);
    EXPECT_EQ(working(true, false), 5);
    EXPECT_EQ(working(false, true), 6);
}

}  // namespace
}  // namespace lagtrap::confinement_test
