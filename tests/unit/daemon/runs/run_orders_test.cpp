#include "daemon/runs/run_orders.hpp"

#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::daemon::run_orders_test {
namespace {

bool wakes(const RunOrders& orders) {
    pollfd one{orders.fd(), POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

TEST(RunOrders, WakeTheReaderAndAreTakenOnceInOrder) {
    RunOrders orders;
    ASSERT_TRUE(orders.valid());
    EXPECT_FALSE(wakes(orders));
    orders.note_session("s1");
    EXPECT_TRUE(wakes(orders));
    orders.note_session("s2");
    orders.use({});
    EXPECT_TRUE(orders.add_aborted({{}, {}}));
    const RunOrders::Taken taken = orders.take();
    EXPECT_THAT(taken.sessions, testing::ElementsAre("s1", "s2"));
    EXPECT_EQ(taken.sources.size(), 1U);
    EXPECT_EQ(taken.aborted.size(), 2U);
    EXPECT_FALSE(wakes(orders));
    EXPECT_TRUE(orders.take().sessions.empty());
}

TEST(RunOrders, AreDoneWhenTheLastSourceOfAStoppedReaderIsTaken) {
    RunOrders orders;
    orders.use({});
    orders.stop();
    EXPECT_TRUE(wakes(orders));
    EXPECT_FALSE(orders.done());
    (void)orders.take();
    EXPECT_TRUE(orders.done());
}

TEST(RunOrders, TakeNoMoreAbortedRunsThanThereIsRoomFor) {
    RunOrders orders;
    std::size_t taken = 0;
    while (orders.add_aborted(std::vector<ReportedRun>(1000))) taken += 1000;
    EXPECT_FALSE(has_room_for_aborted(taken, 1000));
    EXPECT_EQ(orders.take().aborted.size(), taken);
    EXPECT_TRUE(orders.add_aborted(std::vector<ReportedRun>(1000)));
}

}  // namespace
}  // namespace lagtrap::daemon::run_orders_test
