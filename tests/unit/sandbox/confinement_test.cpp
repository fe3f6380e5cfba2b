// Each test runs in a child, because a sandbox cannot be undone.
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <future>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace lagtrap::confinement_test
