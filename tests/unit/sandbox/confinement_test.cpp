// In a child each: what is given up is gone for good.
#include "sandbox/confinement.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
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
    look(::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
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
    if (::geteuid() != 0) GTEST_SKIP() << "giving up root needs root";
    const int status = status_of_child([] {
        if (!drop_privileges()) return 1;
        if (::getuid() == 0 || ::geteuid() == 0 || ::getgid() == 0 || ::getgroups(0, nullptr) != 0) return 2;
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
