#include "server/reports/watched_objects.hpp"

#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::reports::watched_objects_test {
namespace {

namespace json = boost::json;

std::string line_of(const json::object& object) { return json::serialize(object) + "\n"; }

std::string first_line() {
    calls::ObjectsStarted started;
    started.pid = 7;
    started.process = "shop";
    started.began_monotonic_ns = 1'000;
    started.classes = {"Cart"};
    started.functions.resize(2);
    started.functions[0].function.name = "Cart::price";
    started.functions[1].function.name = "Cart::Cart";
    started.functions[1].role = calls::ObjectRole::Create;
    return line_of(calls::to_json(started));
}

calls::ObjectCall call_of(std::uint32_t function, std::uint64_t begin_ns, bool failed = false) {
    calls::ObjectCall call;
    call.function = function;
    call.tid = 7;
    call.begin_ns = begin_ns;
    call.end_ns = begin_ns + 10;
    call.failed = failed;
    call.result = failed ? 14 : 0;
    return call;
}

std::string calls_line(const std::vector<calls::ObjectCall>& calls) {
    return line_of(calls::to_json(calls));
}

TEST(WatchedObjects, OfOneThatGoesOnWhatCameSoFarStandsForItsEnd) {
    WatchedObjects objects;
    objects.add(first_line() + calls_line({call_of(1, 2'000), call_of(0, 3'000, true)}));
    objects.add(line_of(calls::to_json(calls::ObjectCounts{9'000, {{4, 3, 1, 2, 0, 0, 0, 0, 0}}})));
    objects.end_here();
    EXPECT_EQ(objects.reason(), "");
    const json::object all = objects.summary().to_json(10);
    EXPECT_EQ(all.at("length_ns").to_number<int>(), 8'000);
    EXPECT_EQ(all.at("reported").to_number<int>(), 2);
    EXPECT_EQ(all.at("classes").at(0).at("alive").to_number<int>(), 3);
    EXPECT_EQ(all.at("failures").at(0).at("error").as_string(), "result 14");
    EXPECT_EQ(all.at("functions").as_array().size(), 2U);
}

TEST(WatchedObjects, AFailureStaysAmongTheLatestWhenOthersHaveFollowed) {
    WatchedObjects objects;
    std::vector<calls::ObjectCall> calls{call_of(0, 1'500, true)};
    for (std::uint64_t at = 0; at < 2 * WatchedObjects::latest_kept; ++at)
        calls.push_back(call_of(0, 2'000 + 20 * at));
    objects.add(first_line() + calls_line(calls));
    objects.end_here();
    const json::array latest = objects.latest();
    ASSERT_EQ(latest.size(), WatchedObjects::latest_kept + 1);
    EXPECT_EQ(latest[0].at("begin_ns").to_number<int>(), 500);
    EXPECT_EQ(latest[0].at("error").as_string(), "result 14");
    EXPECT_EQ(latest.back().at("begin_ns").to_number<std::uint64_t>(),
              1'000 + 20 * (2 * WatchedObjects::latest_kept - 1));
}

TEST(WatchedObjects, TheLatestAreBounded) {
    WatchedObjects objects;
    std::vector<calls::ObjectCall> calls;
    for (std::uint64_t tree = 0; tree < 3; ++tree) {
        const std::uint64_t begin_ns = 10'000 * (tree + 1);
        for (std::uint64_t at = 1; at <= 400; ++at) {
            calls.push_back(call_of(0, begin_ns + 20 * at));
            calls.back().depth = 1;
        }
        calls.push_back(call_of(1, begin_ns));
        calls.back().end_ns = begin_ns + 9'000;
    }
    objects.add(first_line() + calls_line(calls));
    objects.end_here();
    const json::array latest = objects.latest();
    EXPECT_EQ(latest.size(), WatchedObjects::latest_rows_limit);
    // The newest is complete.
    EXPECT_EQ(latest[latest.size() - 401].at("begin_ns").to_number<int>(), 29'000);
}

TEST(WatchedObjects, WithoutTheFirstLineNothingIsSaid) {
    WatchedObjects objects;
    objects.add(calls_line({call_of(0, 2'000)}));
    objects.end_here();
    EXPECT_FALSE(objects.has_begun());
    EXPECT_EQ(objects.unread_lines(), 1U);
}

TEST(WatchedObjects, LinesThatCannotBeReadAreCountedAndLeftOut) {
    WatchedObjects objects;
    objects.add(first_line() + "{\"odd\":1}\n{\"object_calls\":[[1]]}\n" +
                calls_line({call_of(9, 1'500)}) + first_line());
    calls::ObjectsEnded ended;
    ended.reason = "the time is over";
    objects.add(calls_line({call_of(0, 2'000)}) + line_of(calls::to_json(ended)) +
                calls_line({call_of(0, 3'000)}));
    objects.end_here();
    EXPECT_EQ(objects.unread_lines(), 5U);
    EXPECT_EQ(objects.reason(), "the time is over");
    EXPECT_EQ(objects.latest().size(), 1U);
}

}  // namespace
}  // namespace lagtrap::server::reports::watched_objects_test
