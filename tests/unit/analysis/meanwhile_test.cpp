#include "analysis/meanwhile.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::meanwhile_test {
namespace {

constexpr std::uint64_t s = 1'000'000'000;

class MeanwhileOfADelay : public testing::Test {
  protected:
    static trace::Delay delay_of(std::uint64_t id, std::uint64_t begin_ns,
                                 std::uint64_t length_ns) {
        trace::Delay delay;
        delay.run_id = id;
        delay.event = "work";
        delay.begin_ns = begin_ns;
        delay.duration_ns = length_ns;
        delay.begin_pid = delay.begin_tid = 10;
        delay.process = "app";
        return delay;
    }
    void process(std::uint32_t pid, std::uint64_t started_ns, std::uint32_t parent_pid = 1) {
        made_.process(pid, parent_pid);
        Process& process = made_.recording.processes[pid];
        process.started_ns = started_ns;
        process.name = made_.name("p" + std::to_string(pid));
        process.command_line = "p --of " + std::to_string(pid);
    }
    [[nodiscard]] std::vector<std::uint32_t> pids() const {
        std::vector<std::uint32_t> found;
        for (const Beginning& one : meanwhile_of(made_.recording, own_).beginnings)
            found.push_back(one.pid);
        return found;
    }
    // The delay lasts from 100 s to 110 s.
    const trace::Delay own_ = delay_of(1, 100 * s, 10 * s);
    test::MadeRecording made_;
};

using Pids = std::vector<std::uint32_t>;

TEST_F(MeanwhileOfADelay, ProcessesThatBeganShortlyBeforeOrDuringIt) {
    process(20, 99 * s);
    process(21, 99 * s - 1);
    process(22, 110 * s - 1);
    process(23, 110 * s);
    process(24, 105 * s, 2);
    process(10, 105 * s);
    process(25, 0);
    EXPECT_EQ(pids(), (Pids{20, 22}));
    const Beginning one = meanwhile_of(made_.recording, own_).beginnings[0];
    EXPECT_EQ(one.offset_ns, -static_cast<std::int64_t>(s));
    EXPECT_EQ(one.process, "p20");
    EXPECT_EQ(one.command_line, "p --of 20");
    EXPECT_EQ(one.delay_number, 0U);
}

TEST_F(MeanwhileOfADelay, OtherDelaysThatOverlapIt) {
    trace::Delay same_run = own_, other_thread = own_;
    other_thread.begin_tid = 11;
    made_.recording.system.delays = {own_,
                                     delay_of(2, 90 * s, 10 * s),
                                     delay_of(3, 90 * s, 10 * s + 1),
                                     delay_of(4, 110 * s - 1, s),
                                     delay_of(5, 110 * s, s),
                                     other_thread};
    std::vector<std::size_t> numbers;
    for (const Beginning& one : meanwhile_of(made_.recording, own_).beginnings) {
        numbers.push_back(one.delay_number);
        EXPECT_EQ(one.process, "app");
        EXPECT_EQ(one.command_line, "");
    }
    EXPECT_EQ(numbers, (std::vector<std::size_t>{3, 6, 4}));
}

TEST_F(MeanwhileOfADelay, AreInOrderOfTimeThenNumber) {
    process(30, 103 * s);
    process(31, 101 * s);
    process(29, 103 * s);
    EXPECT_EQ(pids(), (Pids{31, 29, 30}));
}

TEST_F(MeanwhileOfADelay, OfManyTheNearestToItsBeginAreKept) {
    for (std::uint32_t i = 0; i < 15; ++i) process(100 + i, 99 * s + i);
    for (std::uint32_t i = 0; i < 15; ++i) process(200 + i, 100 * s + i);
    const Meanwhile found = meanwhile_of(made_.recording, own_);
    EXPECT_EQ(found.left_out, 10U);
    ASSERT_EQ(found.beginnings.size(), 20U);
    EXPECT_EQ(found.beginnings.front().pid, 105U);
    EXPECT_EQ(found.beginnings.back().pid, 209U);
}

TEST_F(MeanwhileOfADelay, OfManyBeforeItTheLastAreKept) {
    for (std::uint32_t i = 0; i < 25; ++i) process(100 + i, 99 * s + i);
    process(200, 100 * s);
    const Meanwhile found = meanwhile_of(made_.recording, own_);
    EXPECT_EQ(found.left_out, 6U);
    EXPECT_EQ(found.beginnings.front().pid, 106U);
    EXPECT_EQ(found.beginnings.back().pid, 200U);
    EXPECT_EQ(meanwhile_of(test::MadeRecording().recording, own_).left_out, 0U);
}

}  // namespace
}  // namespace lagtrap::analysis::meanwhile_test
