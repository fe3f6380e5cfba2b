#include "daemon/runs/marker_stacks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::marker_stacks_test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Each process inspection reads the clock twice, at its begin and end.
std::chrono::steady_clock::time_point clock_now;
std::chrono::milliseconds look_takes;
std::chrono::steady_clock::time_point now() { return clock_now += look_takes; }

// A /proc with one process.
class MarkerStacksOfAProcess : public testing::Test {
  protected:
    static constexpr std::uint32_t pid = 7;

    void SetUp() override {
        clock_now = std::chrono::steady_clock::time_point(1000h);
        look_takes = 0ms;
        fs::create_directories(process());
        std::ofstream(process() / "status")
            << "Name:\tprogram\nTgid:\t7\nPid:\t7\nPPid:\t1\nUid:\t0\t0\t0\t0\n";
        std::ofstream(process() / "comm") << "program\n";
        std::ofstream(process() / "cmdline") << "program";
        std::ofstream(process() / "stat")
            << "7 (program) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100 0 0\n";
        fs::create_symlink("/bin/program", process() / "exe");
    }
    void TearDown() override { fs::remove_all(root_); }
    [[nodiscard]] fs::path process() const { return root_ / std::to_string(pid); }
    void map(std::size_t pieces) const {
        std::ofstream maps(process() / "maps");
        for (std::size_t piece = 0; piece < pieces; ++piece)
            maps << fmt::format("{:08x}-{:08x} r-xp 00000000 08:01 42 /bin/program\n",
                                (piece + 1) * 0x2000, (piece + 1) * 0x2000 + 0x1000);
    }
    // The only frame of a stack in this process, as it is reported.
    MarkerPlace place_of(std::uint64_t address) { return places_of({address}).front(); }
    std::vector<MarkerPlace> places_of(const std::vector<std::uint64_t>& frames) {
        std::vector<std::uint64_t> memory(sizeof(lagtrap_stack) / 8 + 1 + frames.size());
        auto& stack = *reinterpret_cast<lagtrap_stack*>(memory.data());
        stack.pid = pid;
        stack.stack_id = ++next_id_;
        stack.frame_count = static_cast<std::uint16_t>(frames.size());
        std::copy(frames.begin(), frames.end(), stack.frames);
        stacks_.take(stack);
        return *stacks_.find(next_id_);
    }

    fs::path root_ = fs::path(testing::TempDir()) / ("marker-stacks-" + std::to_string(::getpid()));
    std::uint64_t next_id_ = 0;
    MarkerStacks stacks_{root_, now};
};

TEST_F(MarkerStacksOfAProcess, AreLookedUpInItsMappings) {
    map(3);
    EXPECT_EQ(place_of(0x4010).offset, 0x10U);
    EXPECT_NE(place_of(0x4010).module, trace::unknown_module);
    EXPECT_EQ(place_of(0x9999'0000).module, trace::unknown_module);
}

TEST_F(MarkerStacksOfAProcess, AreLookedUpAnewAfterAPauseByCost) {
    map(1);
    look_takes = 40ms;
    EXPECT_NE(place_of(0x2010).module, trace::unknown_module);
    look_takes = 0ms;
    map(2);
    clock_now += 1999ms;
    EXPECT_EQ(place_of(0x4010).module, trace::unknown_module)
        << "looked at again before 50 times its cost had passed";
    ASSERT_EQ(stacks_.limited().size(), 1U);
    EXPECT_EQ(stacks_.limited()[0].put_off, 1U);
    clock_now += 1ms;
    EXPECT_NE(place_of(0x4010).module, trace::unknown_module);
}

TEST_F(MarkerStacksOfAProcess, AreCountedWhereTheUserIsLimited) {
    map(1);
    look_takes = 300ms;
    EXPECT_NE(place_of(0x2010).module, trace::unknown_module);
    EXPECT_TRUE(stacks_.limited().empty());
    look_takes = 0ms;
    stacks_.clear();
    EXPECT_EQ(place_of(0x2010).module, trace::unknown_module)
        << "forgetting the process must not forget its cost";
    ASSERT_EQ(stacks_.limited().size(), 1U);
    EXPECT_EQ(stacks_.limited()[0].user, ::geteuid());
    EXPECT_EQ(stacks_.limited()[0].put_off, 1U);
}

TEST_F(MarkerStacksOfAProcess, KnowsNoMoreMappingsThanTheLimit) {
    map(16'385);
    EXPECT_NE(place_of(16'384ULL * 0x2000).module, trace::unknown_module);
    EXPECT_EQ(place_of(16'385ULL * 0x2000).module, trace::unknown_module);
}

TEST_F(MarkerStacksOfAProcess, CallsAreBeforeTheirReturnAddresses) {
    std::ofstream(process() / "maps")
        << "00002000-00003000 r-xp 00007000 08:01 42 /bin/program\n"
           "00003000-00004000 r-xp 00000000 08:01 43 /lib/library.so\n";
    const auto places = places_of({0x2000, 0x3000, 0x3001, 0x4000, 0x4001, 0});
    ASSERT_EQ(places.size(), 6U);
    EXPECT_EQ(places[0].offset, 0x7000U) << "the innermost is no return address";
    EXPECT_EQ(places[1].offset, 0x7fffU);
    EXPECT_EQ(places[1].module, places[0].module);
    EXPECT_EQ(places[2].offset, 0U);
    EXPECT_NE(places[2].module, places[0].module);
    EXPECT_EQ(places[3].offset, 0xfffU);
    EXPECT_EQ(places[3].module, places[2].module);
    EXPECT_EQ(places[4].module, trace::unknown_module);
    EXPECT_EQ(places[4].offset, 0x4000U);
    EXPECT_EQ(places[5].offset, 0U);
    EXPECT_EQ(stacks_.find(999), nullptr);
}

TEST_F(MarkerStacksOfAProcess, AreLookedUpAnewAfterAFifthOfASecond) {
    map(1);
    EXPECT_NE(place_of(0x2010).module, trace::unknown_module);
    map(2);
    EXPECT_EQ(place_of(0x4010).module, trace::unknown_module);
    clock_now += 199ms;
    EXPECT_EQ(place_of(0x4010).module, trace::unknown_module);
    EXPECT_TRUE(stacks_.limited().empty()) << "such a pause is no limit";
    clock_now += 1ms;
    EXPECT_NE(place_of(0x4010).module, trace::unknown_module);
    EXPECT_EQ(place_of(0x2fff).offset, 0xfffU);
}

}  // namespace
}  // namespace lagtrap::daemon::marker_stacks_test
