#include "server/api/watch_summaries.hpp"

#include <map>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::watch_summaries_test {
namespace {

namespace json = boost::json;

std::string line_of(const json::object& object) { return json::serialize(object) + "\n"; }

// A watch whose parts are added one by one.
class Parts {
  public:
    std::map<std::uint32_t, std::string> parts;
    std::vector<std::uint32_t> read;  // numbers of the parts that were requested, in order
    std::uint64_t received = 0;

    void put(std::uint32_t number) {
        calls::ObjectsStarted started;
        started.process = "shop";
        started.classes = {"Cart"};
        started.functions.resize(1);
        started.functions[0].function.name = "Cart::price";
        calls::ObjectCall call;
        call.begin_ns = number * 1'000;
        call.end_ns = call.begin_ns + 10;
        parts[number] = (number == 1 ? line_of(calls::to_json(started)) : "") +
                        line_of(calls::to_json(std::vector<calls::ObjectCall>{call}));
        ++received;
    }
    [[nodiscard]] ObjectWatch watch(const std::string& id = "a") const {
        ObjectWatch watch;
        watch.id = id;
        watch.parts = parts.rbegin()->first;
        watch.received_parts = received;
        return watch;
    }

    std::vector<StoredObjectsPart> parts_after(std::uint32_t after) {
        std::vector<StoredObjectsPart> found;
        for (auto part = parts.upper_bound(after); part != parts.end(); ++part) {
            read.push_back(part->first);
            found.push_back({part->first, 0, false, part->second});
        }
        return found;
    }
};

std::uint64_t reported(WatchSummaries& summaries, Parts& store, const std::string& id = "a") {
    auto objects =
        summaries.read([&](std::uint32_t after, std::uint64_t) { return store.parts_after(after); },
                       store.watch(id));
    EXPECT_TRUE(objects);
    objects->end_here();
    EXPECT_EQ(objects->unread_lines(), 0U);
    return objects->summary().to_json(10).at("reported").to_number<std::uint64_t>();
}

TEST(WatchSummaries, OfPartsThatWereReadNoneIsReadAgain) {
    WatchSummaries summaries;
    Parts store;
    store.put(1);
    store.put(2);
    EXPECT_EQ(reported(summaries, store), 2U);
    store.put(3);
    store.read.clear();
    EXPECT_EQ(reported(summaries, store), 3U);
    EXPECT_EQ(store.read, (std::vector<std::uint32_t>{3}));
    EXPECT_EQ(reported(summaries, store), 3U);
    EXPECT_EQ(store.read.size(), 1U);
}

TEST(WatchSummaries, APartThatComesLateHasAllReadAnew) {
    WatchSummaries summaries;
    Parts store;
    store.put(1);
    store.put(3);
    EXPECT_EQ(reported(summaries, store), 2U);
    store.put(2);
    store.read.clear();
    EXPECT_EQ(reported(summaries, store), 3U);
    EXPECT_EQ(store.read, (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(WatchSummaries, PartsThatWereRemovedForTheirSizeAreNotWaitedFor) {
    WatchSummaries summaries;
    Parts store;
    for (std::uint32_t number = 1; number <= 4; ++number) store.put(number);
    store.parts.erase(2);
    EXPECT_EQ(reported(summaries, store), 3U);
    store.put(5);
    store.parts.erase(3);
    store.read.clear();
    // The third is cached from before.
    EXPECT_EQ(reported(summaries, store), 4U);
    EXPECT_EQ(store.read, (std::vector<std::uint32_t>{5}));
}

TEST(WatchSummaries, WhatManyPartsCameToIsReadAnewFromThoseThatAreLeft) {
    Parts store;
    store.put(1);
    store.put(2);
    WatchSummaries summaries(store.parts[1].size() + store.parts[2].size());
    EXPECT_EQ(reported(summaries, store), 2U);
    store.put(3);
    store.parts.erase(2);
    store.read.clear();
    EXPECT_EQ(reported(summaries, store), 2U);
    EXPECT_EQ(store.read, (std::vector<std::uint32_t>{3, 1, 3}));
}

TEST(WatchSummaries, TheOneAskedForLongestAgoIsForgotten) {
    WatchSummaries summaries;
    Parts store;
    store.put(1);
    for (std::size_t i = 0; i <= WatchSummaries::kept_limit; ++i)
        reported(summaries, store, std::to_string(i));
    store.read.clear();
    EXPECT_EQ(reported(summaries, store, "1"), 1U);
    EXPECT_TRUE(store.read.empty());
    EXPECT_EQ(reported(summaries, store, "0"), 1U);
    EXPECT_EQ(store.read.size(), 1U);
}

}  // namespace
}  // namespace lagtrap::server::watch_summaries_test
