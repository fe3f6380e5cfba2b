#include "core/child_process.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::child_process_test {
namespace {

// The child's output and its wait status.
struct Said {
    std::string text;
    int status = 0;
};

Said run(ChildOptions options, int its, const std::string& program = "/bin/sh") {
    std::array<int, 2> ends{};
    // without close-on-exec: only named descriptors may reach the child
    EXPECT_EQ(::pipe(ends.data()), 0);
    const UniqueFd reading(ends[0]);
    UniqueFd writing(ends[1]);
    options.descriptors.push_back({its, writing.get()});
    const auto pid = start_child(program, options);
    EXPECT_TRUE(pid) << pid.error().message;
    writing.reset();
    Said said;
    std::array<char, 4096> piece{};
    for (ssize_t got = 0; (got = ::read(reading.get(), piece.data(), piece.size())) > 0;)
        said.text.append(piece.data(), static_cast<std::size_t>(got));
    if (pid) ::waitpid(*pid, &said.status, 0);
    return said;
}

TEST(ChildProcess, HasTheDescriptorsThatAreNamedAndNoOther) {
    const UniqueFd leaking(::open("/dev/null", O_RDONLY));
    const Said said = run({{"sh", "-c", "ls /proc/$$/fd; readlink /proc/$$/fd/0"},
                           {{STDIN_FILENO, -1}},
                           false,
                           false},
                          1);
    EXPECT_EQ(said.text, "0\n1\n2\n/dev/null\n");
}

TEST(ChildProcess, DescriptorsMayExchangeTheirNumbers) {
    std::array<int, 2> first{}, second{};
    ASSERT_EQ(::pipe(first.data()), 0);
    ASSERT_EQ(::pipe(second.data()), 0);
    const UniqueFd ends[] = {UniqueFd(first[0]), UniqueFd(first[1]), UniqueFd(second[0]),
                             UniqueFd(second[1])};
    ASSERT_EQ(::write(ends[1].get(), "one", 3), 3);
    ASSERT_EQ(::write(ends[3].get(), "two", 3), 3);
    const auto& [one, one_end, two, two_end] = ends;
    const std::string script =
        "head -c 3 <&" + std::to_string(one.get()) + "; head -c 3 <&" + std::to_string(two.get());
    const Said said = run(
        {{"sh", "-c", script}, {{one.get(), two.get()}, {two.get(), one.get()}}, true, false}, 1);
    EXPECT_EQ(said.text, "twoone") << script;
}

TEST(ChildProcess, HasNoEnvironmentUnlessItShall) {
    ::setenv("LAGTRAP_CHILD_TEST", "here", 1);
    EXPECT_EQ(
        run({{"printenv", "LAGTRAP_CHILD_TEST"}, {}, true, false}, 1, "/usr/bin/printenv").text,
        "here\n");
    EXPECT_EQ(run({{"printenv"}, {}, false, false}, 1, "/usr/bin/printenv").text, "");
}

TEST(ChildProcess, NeitherBlocksNorIgnoresSignals) {
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    const auto ignored = std::signal(SIGUSR1, SIG_IGN);
    // No shell in between: Debian's unblocks all signals.
    const Said said = run({{"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}, {}, true, false},
                          1, "/bin/grep");
    const auto set_of = [&](const std::string& name) {
        const std::size_t at = said.text.find(name);
        // Without 32 and 33, which the C library reserves.
        return at == std::string::npos
                   ? ~0ULL
                   : std::stoull(said.text.substr(at + name.size()), nullptr, 16) & 0x7fffffff;
    };
    std::signal(SIGUSR1, ignored);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(set_of("SigBlk:"), 0U) << said.text;
    EXPECT_EQ(set_of("SigIgn:"), 0U) << said.text;
}

TEST(ChildProcess, LeadsAGroupWhereItShall) {
    const std::string script =
        "read -r pid name state parent group rest < /proc/$$/stat; [ $group = $$ ] && echo leads";
    EXPECT_EQ(run({{"sh", "-c", script}, {}, true, true}, 1).text, "leads\n");
    EXPECT_EQ(run({{"sh", "-c", script}, {}, true, false}, 1).text, "");
}

TEST(ChildProcess, AProgramThatIsNotThereIsAnError) {
    const auto pid = start_child("/nonexistent/program", {{"program"}, {}, false, false});
    ASSERT_FALSE(pid);
    EXPECT_EQ(pid.error().system_errno, ENOENT);
    EXPECT_THAT(pid.error().message, testing::HasSubstr("/nonexistent/program"));
}

// A child has copies of all descriptors until it runs its program, and with them the lock.
TEST(StartingChildren, HoldNothingThatWasClosedBefore) {
    const UniqueFd folder(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(folder.valid());
    const std::string path = "/proc/self/fd/" + std::to_string(folder.get());
    std::atomic<bool> stop{false};
    std::thread starter([&stop] {
        while (!stop) {
            const auto child = start_child("/bin/true", {{"true"}, {}});
            if (child) ::waitpid(*child, nullptr, 0);
        }
    });
    int held = 0;
    for (int i = 0; i < 500; ++i) {
        UniqueFd locked(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        ASSERT_EQ(::flock(locked.get(), LOCK_EX), 0);
        std::this_thread::yield();
        locked.reset();
        await_starting_children();
        const UniqueFd next(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (::flock(next.get(), LOCK_EX | LOCK_NB) != 0) ++held;
    }
    stop = true;
    starter.join();
    EXPECT_EQ(held, 0);
}

}  // namespace
}  // namespace lagtrap::child_process_test
