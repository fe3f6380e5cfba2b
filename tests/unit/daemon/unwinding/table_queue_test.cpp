#include "daemon/unwinding/table_queue.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon::table_queue_test {
namespace {

using namespace std::chrono_literals;

class TableQueueTest : public testing::Test {
  protected:
    TableQueue queue{2};
    TableQueue::Clock::time_point now = TableQueue::Clock::now();

    void add(std::uint32_t user, const std::string& key, bool watched = false) {
        TableJob job;
        job.request = {user, watched};
        job.key = key;
        queue.add(std::move(job));
    }
    // The next table's key, made in `took`; "" if there is none.
    std::string make(TableQueue::Clock::duration took = 1ms) {
        const auto job = queue.next(now);
        if (!job) return {};
        queue.done(job->request.user, took, now);
        return job->key;
    }
};

TEST_F(TableQueueTest, UsersTakeTurns) {
    for (int i = 0; i < 1000; ++i) add(7, "many");
    add(8, "one");
    EXPECT_EQ(make(), "many");
    EXPECT_EQ(make(), "one");
    EXPECT_EQ(make(), "many");
    EXPECT_EQ(queue.size(), 998U);
}

TEST_F(TableQueueTest, WhoseTablesTakeLongWaitsForAllOthers) {
    for (int i = 0; i < 10; ++i) add(7, "slow");
    for (int i = 0; i < 10; ++i) add(8, "quick");
    EXPECT_EQ(make(5s), "slow");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(make(), "quick");
    EXPECT_EQ(make(5s), "slow");
}

TEST_F(TableQueueTest, OneOfEachUserAtATime) {
    add(7, "first");
    add(7, "second");
    const auto first = queue.next(now);
    ASSERT_TRUE(first);
    EXPECT_FALSE(queue.next(now));
    queue.done(7, 1ms, now);
    EXPECT_EQ(make(), "second");
}

TEST_F(TableQueueTest, AThreadIsKeptFreeOfWhoHadMuch) {
    for (const std::uint32_t user : {7U, 8U}) {
        add(user, "slow");
        EXPECT_EQ(make(5s), "slow");
        add(user, "slow");
    }
    EXPECT_TRUE(queue.had_much(7, now));
    const auto at_work = queue.next(now);
    ASSERT_TRUE(at_work);
    EXPECT_FALSE(queue.next(now)) << "both threads are at work for users who had much";
    add(9, "quick");
    EXPECT_EQ(make(), "quick");
    queue.done(at_work->request.user, 1ms, now);
    EXPECT_EQ(make(), "slow");
}

TEST_F(TableQueueTest, WhatSomebodyHadIsForgotten) {
    add(7, "slow");
    EXPECT_EQ(make(5s), "slow");
    EXPECT_TRUE(queue.had_much(7, now + 20s));
    EXPECT_FALSE(queue.had_much(7, now + 30s));
}

TEST_F(TableQueueTest, RootMayUseEveryThread) {
    add(0, "slow");
    EXPECT_EQ(make(5s), "slow");
    EXPECT_FALSE(queue.had_much(0, now));
}

TEST_F(TableQueueTest, WatchedProgramsComeFirst) {
    add(7, "other");
    add(8, "other");
    add(8, "watched", true);
    add(7, "watched", true);
    EXPECT_EQ(make(), "watched");
    EXPECT_EQ(make(), "watched");
    EXPECT_EQ(make(), "other");
}

}  // namespace
}  // namespace lagtrap::daemon::table_queue_test
