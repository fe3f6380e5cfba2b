#include "trace/merge/listed_threads.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::listed_threads_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

lagtrap_thread listed(std::uint32_t tid, std::uint64_t at_ns, std::uint64_t stack_id = 1,
                      std::uint32_t state = 1) {
    lagtrap_thread thread{};
    thread.header.at_ns = at_ns;
    thread.tid = tid;
    thread.state = state;
    thread.user_stack_id = stack_id;
    return thread;
}

std::vector<std::pair<std::uint32_t, std::uint64_t>> sleepers(ListedThreads& threads) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> found;
    threads.take_sleepers([&](const lagtrap_thread& thread) {
        found.emplace_back(thread.tid, thread.user_stack_id);
    });
    return found;
}

TEST(ListedThreads, each_is_there_once_as_it_was_listed_first) {
    ListedThreads threads;
    threads.add(listed(9, 10, 1));
    threads.add(listed(7, 11, 2));
    threads.add(listed(9, 20, 3));
    threads.finish();
    ASSERT_EQ(threads.first().size(), 2);
    EXPECT_EQ(threads.first()[0].tid, 7);
    EXPECT_EQ(threads.first()[1].user_stack_id, 1);
}

TEST(ListedThreads, who_switched_before_it_was_listed_did_not_sleep) {
    ListedThreads threads;
    threads.add(listed(7, 10));
    threads.add(listed(8, 10));
    threads.finish();
    threads.note_switch(7, 30);
    threads.note_switch(7, 9);
    threads.note_switch(8, 11);
    EXPECT_THAT(sleepers(threads), ElementsAre(testing::Pair(8, 1)));
}

TEST(ListedThreads, of_one_that_slept_on_the_last_look_counts) {
    ListedThreads threads;
    for (const std::uint32_t tid : {7U, 8U}) {
        threads.add(listed(tid, 10, 1));
        threads.add(listed(tid, 20, 2));
    }
    threads.finish();
    threads.note_switch(7, 15);
    EXPECT_THAT(sleepers(threads), ElementsAre(testing::Pair(7, 1), testing::Pair(8, 2)));
}

TEST(ListedThreads, who_could_run_or_has_no_stack_is_left_out) {
    ListedThreads threads;
    threads.add(listed(7, 10, 1, 0));
    threads.add(listed(8, 10, 0));
    threads.finish();
    EXPECT_THAT(sleepers(threads), IsEmpty());
}

TEST(ListedThreads, one_that_slept_in_the_kernel_alone_is_told) {
    ListedThreads threads;
    lagtrap_thread in_kernel = listed(7, 10, 0);
    in_kernel.kernel_stack_id = 5;
    threads.add(in_kernel);
    threads.finish();
    EXPECT_THAT(sleepers(threads), ElementsAre(testing::Pair(7, 0)));
}

TEST(ListedThreads, a_switch_at_the_time_of_a_look_comes_after_it) {
    ListedThreads threads;
    threads.add(listed(7, 10, 1));
    threads.add(listed(7, 20, 2));
    threads.finish();
    threads.note_switch(7, 20);
    EXPECT_THAT(sleepers(threads), ElementsAre(testing::Pair(7, 2)));
    ListedThreads once;
    once.add(listed(7, 10, 1));
    once.finish();
    once.note_switch(7, 10);
    EXPECT_THAT(sleepers(once), ElementsAre(testing::Pair(7, 1)));
}

}  // namespace
}  // namespace lagtrap::trace::listed_threads_test
