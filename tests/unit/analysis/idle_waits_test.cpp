#include "analysis/idle_waits.hpp"

#include <gtest/gtest.h>

#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::idle_waits_test {
namespace {

using Names = std::vector<std::string>;

struct Places {
    test::MadeRecording made;

    WaitPlace at(const Names& path) {
        WaitPlace place;
        for (const std::string& function : path) place.path.push_back(made.key(function));
        return place;
    }
    InWork of(const WaitPlace& place, const std::vector<WaitPlace>& others = {}) const {
        return is_in_work(made.recording, place, others);
    }
    InWork of(const Names& path) { return of(at(path)); }
};

TEST(IdleWaits, DeepInTheProgramAThreadIsPerhapsInTheMiddleOfWork) {
    Places places;
    EXPECT_EQ(places.of(Names{}), InWork::No);
    EXPECT_EQ(places.of({"main", "a", "b"}), InWork::No);
    EXPECT_EQ(places.of({"main", "a", "b", "c"}), InWork::Perhaps);
    WaitPlace loop = places.at({"main", "a", "b", "c"});
    loop.of_many = true;
    EXPECT_EQ(places.of(loop), InWork::No);
    loop.for_others = true;
    EXPECT_EQ(places.of(loop), InWork::Likely);
}

TEST(IdleWaits, WhoeverAcquiresSomethingIsInTheMiddleOfWork) {
    Places places;
    for (const char* function :
         {"getConnection", "get_connection", "ConnectionPool::get", "pool.fetch_conn",
          "Semaphore::acquire", "checkout", "Pool::checkOut", "Lease::obtain", "reserve(Job)",
          "obtain_permit", "take_slot"})
        EXPECT_EQ(places.of({"main", function}), InWork::Likely) << function;
    for (const char* function :
         {"connection", "get", "Semaphore<Connection>::get", "acquire_next", "take_job",
          "Task::acquire", "get_new_connection", "gettingConnection", "check_in", "out_check"})
        EXPECT_EQ(places.of({"main", function}), InWork::No) << function;
}

TEST(IdleWaits, OnlyTheInnermostTwoFunctionsSayThatAThreadAcquires) {
    Places places;
    EXPECT_EQ(places.of({"getConnection"}), InWork::No);
    EXPECT_EQ(places.of({"getConnection", "a"}), InWork::No);
    EXPECT_EQ(places.of({"main", "getConnection", "a"}), InWork::Likely);
    EXPECT_EQ(places.of({"main", "getConnection", "a", "b"}), InWork::Perhaps);
    WaitPlace place = places.at({"main", "getConnection"});
    place.of_many = true;
    EXPECT_EQ(places.of(place), InWork::No);
}

TEST(IdleWaits, WhoeverHasLeftTheLoopInWhichOthersWaitIsInTheMiddleOfWork) {
    Places places;
    const WaitPlace busy = places.at({"main", "loop", "handle", "query"});
    EXPECT_EQ(places.of(busy, {places.at({"main", "loop", "next"})}), InWork::Likely);
    // The other one is in no call of the loop, is as deep, or in another loop.
    EXPECT_EQ(places.of(busy, {places.at({"main", "loop"})}), InWork::Perhaps);
    EXPECT_EQ(places.of(busy, {places.at({"main", "loop", "a", "b"})}), InWork::Perhaps);
    EXPECT_EQ(places.of(busy, {places.at({"other", "loop", "next"})}), InWork::Perhaps);
    EXPECT_EQ(places.of(busy, {places.at({"other"}), places.at({"main", "loop", "next"})}),
              InWork::Likely);
    const WaitPlace shallow = places.at({"main", "loop", "handle"});
    EXPECT_EQ(places.of(shallow, {places.at({"main", "loop", "next"})}), InWork::No);
    for (const char* function : {"take_job", "Queue::pop", "waitForWork", "poll", "park"})
        EXPECT_EQ(places.of(places.at({"main", "loop", function, "query"}),
                            {places.at({"main", "loop", "next"})}),
                  InWork::Perhaps)
            << function;
}

Interval blocked(StackId stack, std::uint64_t begin_ns, std::uint64_t end_ns) {
    Interval interval;
    interval.state = ThreadState::Blocked;
    interval.stack = stack;
    interval.begin_ns = begin_ns;
    interval.end_ns = end_ns;
    return interval;
}

TEST(IdleWaits, TheLongestWaitsOfOneKindAreThePlace) {
    test::MadeRecording made;
    const StackId once = made.stack({"main", "once", "k:futex_wait"});
    const StackId often = made.stack(
        {"main", "!/usr/bin/app!tokio::park", "?:/usr/bin/app", "often", "k:futex_wait"});
    std::vector<Interval> intervals{blocked(often, 0, 30), blocked(once, 30, 80),
                                    blocked(often, 80, 101), blocked(0, 101, 300)};
    intervals.push_back(blocked(once, 300, 400));
    intervals.back().state = ThreadState::Runnable;
    const WaitPlace place = wait_place_of(made.recording, intervals);
    EXPECT_EQ(place.path, (std::vector<FunctionKey>{made.key("main"), made.key("often")}));
    EXPECT_FALSE(place.of_many);
    EXPECT_FALSE(place.for_others);
    EXPECT_EQ(wait_place_of(made.recording, {}), WaitPlace{});
}

TEST(IdleWaits, KnowsWhoWaitsForManyFilesOrForOthers) {
    test::MadeRecording made;
    const auto place_of = [&](const Names& frames) {
        const std::vector<Interval> intervals{blocked(made.stack(frames), 0, 10)};
        return wait_place_of(made.recording, intervals);
    };
    EXPECT_TRUE(place_of({"main", "k:do_epoll_wait", "k:ep_poll"}).of_many);
    EXPECT_TRUE(place_of({"main", "k:io_cqring_wait"}).of_many);
    EXPECT_FALSE(place_of({"main", "k:do_sys_poll"}).of_many);
    EXPECT_FALSE(place_of({"main", "k:core_sys_select", "k:do_select"}).of_many);
    EXPECT_FALSE(place_of({"main", "k:futex_wait"}).of_many);
    for (const char* function :
         {"std::future<int>::get()", "std::__basic_future::wait", "CompletableFuture.get",
          "java.util.concurrent.FutureTask.get", "__pthread_barrier_wait", "std::barrier<>::x",
          "std::latch::x", "std::sync::mpsc::SyncSender<T>::send", "crossbeam_channel::x::send"})
        EXPECT_TRUE(place_of({"main", function, "k:futex_wait"}).for_others) << function;
    for (const char* function : {"std::future<int>::share()", "CompletableFuture.join",
                                 "std::sync::mpsc::Receiver<T>::recv", "Channel::send"})
        EXPECT_FALSE(place_of({"main", function, "k:futex_wait"}).for_others) << function;
}

}  // namespace
}  // namespace lagtrap::analysis::idle_waits_test
