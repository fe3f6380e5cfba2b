#include "daemon/capture/history_window.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::history_window_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t second = 1'000'000'000;

lagtrap_history_sample sample_at(std::uint64_t at_ns) {
    lagtrap_history_sample sample{};
    sample.header = {sizeof(sample), LAGTRAP_RECORD_HISTORY_SAMPLE, 0, at_ns};
    return sample;
}

std::vector<std::uint64_t> times(const HistoryWindow& window, std::uint64_t now_ns) {
    std::vector<std::uint64_t> times;
    window.for_each(now_ns,
                    [&](const lagtrap_record* record) { times.push_back(record->at_ns / second); });
    return times;
}

TEST(HistoryWindow, holds_so_much_and_no_more) {
    HistoryWindow window(4s);
    for (std::uint64_t at = 1; at <= 60; ++at) {
        (void)window.turn(at * second);
        const auto sample = sample_at(at * second);
        window.take(&sample.header);
    }
    EXPECT_THAT(times(window, 60 * second), testing::ElementsAre(56, 57, 58, 59, 60));
    EXPECT_LE(window.size_bytes(), 8 * sizeof(lagtrap_history_sample));
    EXPECT_EQ(window.cut(), 0);
    window.clear();
    EXPECT_THAT(times(window, 60 * second), testing::IsEmpty());
}

TEST(HistoryWindow, tells_when_stacks_are_to_be_told_anew) {
    HistoryWindow window(4s);
    EXPECT_TRUE(window.turn(10 * second));
    EXPECT_FALSE(window.turn(11 * second));
    EXPECT_TRUE(window.turn(12 * second));
}

TEST(HistoryWindow, gives_up_the_oldest_for_want_of_room) {
    HistoryWindow window(60s);
    std::uint64_t at_ns = second;
    for (std::size_t taken = 0; taken < 3 * HistoryWindow::limit_bytes;
         taken += sizeof(lagtrap_history_sample)) {
        at_ns += 200'000;
        (void)window.turn(at_ns);
        const auto sample = sample_at(at_ns);
        window.take(&sample.header);
        ASSERT_LE(window.size_bytes(), HistoryWindow::limit_bytes);
    }
    EXPECT_GT(window.cut(), 0);
    EXPECT_EQ(times(window, at_ns).back(), at_ns / second);
}

TEST(HistoryWindow, one_full_segment_takes_no_more) {
    HistoryWindow window(60s);
    const auto sample = sample_at(second);
    for (std::size_t taken = 0; taken < 2 * HistoryWindow::limit_bytes; taken += sizeof(sample))
        window.take(&sample.header);
    EXPECT_LE(window.size_bytes(), HistoryWindow::limit_bytes);
    EXPECT_GT(window.size_bytes(), HistoryWindow::limit_bytes - 2 * sizeof(sample));
}

}  // namespace
}  // namespace lagtrap::daemon::history_window_test
