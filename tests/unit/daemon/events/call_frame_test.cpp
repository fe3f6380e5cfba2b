#include "daemon/events/call_frame.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace lagtrap::daemon::call_frame_test {
namespace {

constexpr ThreadCall call{1, 2, 0x7ff0'0000'5000, 0x401234};
constexpr std::uint64_t outer = call.frame + 0x100, inner = call.frame - 0x100;

const std::string maps =
    "00400000-00401000 r-xp 00000000 08:01 7 /bin/with [stack] in its name\n"
    "00601000-00700000 rw-p 00000000 00:00 0 \n"
    "7ff000000000-7ff000001000 ---p 00000000 00:00 0 \n"
    "7ff000001000-7ff000801000 rw-p 00000000 00:00 0 \n"
    "7ff000900000-7ff000a00000 rw-p 00000000 00:00 0 [anon: fibers]\n"
    "7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0                          [stack]\n"
    "7fffffffe000-7ffffffff000 --xp 00000000 00:00 0                          [uprobes]\n";

TEST(CallFrameTest, IsAliveWhereNothingIsKnown) {
    EXPECT_EQ(state_of_call(call, {}), FrameState::Alive);
}

TEST(CallFrameTest, IsAliveWhileItsReturnAddressIsThere) {
    EXPECT_EQ(state_of_call(call, {.word_at_frame = call.return_address,
                                   .stack_pointer = inner,
                                   .on_one_stack = true}),
              FrameState::Alive);
}

// A caller that catches an exception and then sleeps: its next call occupies the place of the
// abandoned one.
TEST(CallFrameTest, IsGoneWhereAnotherCallHasItsPlace) {
    EXPECT_EQ(state_of_call(call, {.word_at_frame = 0x405678, .stack_pointer = inner}),
              FrameState::Gone);
    EXPECT_EQ(state_of_call(call, {.word_at_frame = 0x405678}), FrameState::Gone)
        << "a thread that computes";
}

TEST(CallFrameTest, AReturnProbesTrampolineStandsForTheReturnAddress) {
    EXPECT_EQ(state_of_call(call, {.word_at_frame = 0x405678, .word_is_trampoline = true}),
              FrameState::Alive);
}

TEST(CallFrameTest, AnUnknownReturnAddressProvesNothing) {
    EXPECT_EQ(state_of_call({1, 2, call.frame, 0}, {.word_at_frame = 0x405678}), FrameState::Alive);
}

TEST(CallFrameTest, IsGoneWhereTheStackIsLessDeep) {
    const CallEvidence caught_further_out{
        .word_at_frame = call.return_address, .stack_pointer = outer, .on_one_stack = true};
    EXPECT_EQ(state_of_call(call, caught_further_out), FrameState::Gone);
}

// A signal handler on its own stack, or another fiber.
TEST(CallFrameTest, AnotherStackFurtherUpProvesNothing) {
    EXPECT_EQ(state_of_call(call, {.word_at_frame = call.return_address, .stack_pointer = outer}),
              FrameState::Alive);
}

TEST(CallFrameTest, AThreadsStackIsKnownByItsNameOrItsGuard) {
    EXPECT_TRUE(lie_on_one_stack(maps, 0x7ff000005000, 0x7ff000700000));
    EXPECT_TRUE(lie_on_one_stack(maps, 0x7ffc00005000, 0x7ffc00006000));
    EXPECT_FALSE(lie_on_one_stack(maps, 0x7ff000005000, 0x7ffc00006000)) << "two stacks";
    EXPECT_FALSE(lie_on_one_stack(maps, 0x602000, 0x603000)) << "stacks of fibers in an array";
    EXPECT_FALSE(lie_on_one_stack(maps, 0x7ff000900000, 0x7ff000901000)) << "the same in a mapping";
    EXPECT_FALSE(lie_on_one_stack(maps, 0x400000, 0x400100));
    EXPECT_FALSE(lie_on_one_stack("nonsense\n\n7ff0-", 1, 2));
}

TEST(CallFrameTest, TheTrampolineIsKnownByItsName) {
    EXPECT_TRUE(lies_in_trampoline(maps, 0x7fffffffe000));
    EXPECT_FALSE(lies_in_trampoline(maps, 0x400000));
}

// A process that waits until it is killed and has more mappings than `pages`.
pid_t process_with_mappings(int pages) {
    int ready[2];
    if (::pipe(ready) != 0) return -1;
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < pages; ++i)
            ::mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        (void)!::write(ready[1], "r", 1);
        for (;;) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return pid;
}

TEST(CallFrameTest, IsSeenInAProcessWithManyMappings) {
    static const std::uint64_t place = 0x1234;  // at the same address in the child
    const pid_t pid = process_with_mappings(4'000);
    ASSERT_GT(pid, 0);
    ThreadCall seen;
    seen.pid = seen.tid = static_cast<std::uint32_t>(pid);
    seen.frame = reinterpret_cast<std::uintptr_t>(&place);
    const CallFrames frames(std::chrono::minutes(1));
    seen.return_address = place;
    EXPECT_EQ(frames.state_of(seen), FrameState::Alive);
    seen.return_address = place + 1;
    EXPECT_EQ(frames.state_of(seen), FrameState::Gone);
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

}  // namespace
}  // namespace lagtrap::daemon::call_frame_test
