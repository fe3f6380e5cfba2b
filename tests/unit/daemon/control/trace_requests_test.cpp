// Requests for traces of a process, and what they may ask for.
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "daemon/calls/call_trace.hpp"
#include "daemon/capture/find_event.hpp"
#include "daemon/control/control_request.hpp"
#include "daemon/functions/function_trace.hpp"
#include "daemon/objects/object_trace.hpp"

namespace lagtrap::daemon::trace_requests_test {
namespace {

using namespace std::chrono_literals;
using boost::json::object;
using boost::json::value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// The request with one more field.
object with(object request, const char* name, value content) {
    request[name] = std::move(content);
    return request;
}

template <typename T>
std::string refusal(const Result<T>& parsed) {
    if (parsed) return "none";
    EXPECT_EQ(parsed.error().kind, ErrorKind::Invalid);
    return parsed.error().message;
}

TEST(CallRequests, HaveDefaults) {
    const auto parsed = parse_call_request({{"pid", 42}, {"function", "pay"}});
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->wishes.pid, 42U);
    EXPECT_EQ(parsed->wishes.function, "pay");
    EXPECT_EQ(parsed->wishes.depth, 3U);
    EXPECT_EQ(parsed->wishes.match, "");
    EXPECT_TRUE(parsed->wishes.only.empty());
    EXPECT_EQ(parsed->count, 0U);
    EXPECT_EQ(parsed->min_duration, 0ns);
    EXPECT_EQ(parsed->length, 0ns);
    EXPECT_DOUBLE_EQ(parsed->budget, 0.1);
    EXPECT_FALSE(parsed->with_probes);
}

TEST(CallRequests, EachFieldHasItsMeaningAndItsLimit) {
    const object least{{"pid", 42}, {"function", "pay"}};
    object all = least;
    all["depth"] = 32;
    all["match"] = "a|b";
    all["only"] = {"one", "two"};
    all["least_ns"] = 5;
    all["count"] = 1'000'000;
    all["length_ns"] = 6;
    all["budget_permille"] = 500;
    const auto parsed = parse_call_request(all);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->wishes.depth, 32U);
    EXPECT_EQ(parsed->wishes.match, "a|b");
    EXPECT_THAT(parsed->wishes.only, ElementsAre("one", "two"));
    EXPECT_EQ(parsed->min_duration, 5ns);
    EXPECT_EQ(parsed->count, 1'000'000U);
    EXPECT_EQ(parsed->length, 6ns);
    EXPECT_DOUBLE_EQ(parsed->budget, 0.5);
    EXPECT_EQ(parse_call_request(with(least, "depth", 0))->wishes.depth, 0U);
    EXPECT_THAT(refusal(parse_call_request(with(least, "depth", 33))), HasSubstr("from 0 to 32"));
    EXPECT_THAT(refusal(parse_call_request(with(least, "count", 1'000'001))),
                HasSubstr("from 0 to 1000000"));
    EXPECT_EQ(refusal(parse_call_request({{"pid", 42}})), "\"calls\" needs a \"function\"");
    EXPECT_EQ(refusal(parse_call_request({{"function", "pay"}})), "\"calls\" needs a \"pid\"");
}

TEST(FunctionRequests, HaveDefaultsAndLimits) {
    const object least{{"pid", 42}};
    const auto parsed = parse_function_request(least);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->wishes.pid, 42U);
    EXPECT_EQ(parsed->min_duration, 20us);
    EXPECT_EQ(parsed->length, 0ns);
    EXPECT_EQ(parsed->bytes_per_second, 200'000U);
    EXPECT_DOUBLE_EQ(parsed->budget, 0.1);
    EXPECT_EQ(parse_function_request(with(least, "include", "in"))->wishes.include, "in");
    EXPECT_EQ(parse_function_request(with(least, "exclude", "out"))->wishes.exclude, "out");
    EXPECT_EQ(parse_function_request(with(least, "least_ns", 0))->min_duration, 0ns);
    EXPECT_EQ(parse_function_request(with(least, "length_ns", 7))->length, 7ns);
    const auto rate = [&](int bytes) {
        return parse_function_request(with(least, "bytes_per_second", bytes));
    };
    EXPECT_EQ(rate(1'000)->bytes_per_second, 1'000U);
    EXPECT_EQ(rate(100'000'000)->bytes_per_second, 100'000'000U);
    EXPECT_THAT(refusal(rate(999)), HasSubstr("from 1000 to 100000000"));
    EXPECT_NE(refusal(rate(100'000'001)), "none");
    EXPECT_EQ(refusal(parse_function_request({})), "\"functions\" needs a \"pid\"");
}

TEST(ObjectRequests, HaveDefaultsAndLimits) {
    const value rule{{"name", "file"}, {"create", "open_it:result"}, {"release", "close_it:arg0"}};
    const object least{{"pid", 42}, {"rules", {rule}}};
    const auto parsed = parse_object_request(least);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(parsed->wishes.pid, 42U);
    EXPECT_EQ(parsed->wishes.rules.size(), 1U);
    EXPECT_TRUE(parsed->wishes.memory);
    EXPECT_EQ(parsed->min_duration, 0ns);
    EXPECT_EQ(parsed->length, 0ns);
    EXPECT_EQ(parsed->timeout, 5s);
    EXPECT_EQ(parsed->calls_per_second, 5'000U);
    EXPECT_DOUBLE_EQ(parsed->budget, 0.1);
    EXPECT_FALSE(parse_object_request(with(least, "memory", 0))->wishes.memory);
    EXPECT_NE(refusal(parse_object_request(with(least, "memory", 2))), "none");
    EXPECT_EQ(parse_object_request(with(least, "include", "in"))->wishes.include, "in");
    EXPECT_EQ(parse_object_request(with(least, "exclude", "out"))->wishes.exclude, "out");
    EXPECT_EQ(parse_object_request(with(least, "least_ns", 4))->min_duration, 4ns);
    EXPECT_EQ(parse_object_request(with(least, "length_ns", 7))->length, 7ns);
    EXPECT_EQ(parse_object_request(with(least, "timeout_ns", 2'000'000))->timeout, 2ms);
    const auto rate = [&](int calls) {
        return parse_object_request(with(least, "calls_per_second", calls));
    };
    EXPECT_EQ(rate(1)->calls_per_second, 1U);
    EXPECT_EQ(rate(1'000'000)->calls_per_second, 1'000'000U);
    EXPECT_NE(refusal(rate(0)), "none");
    EXPECT_NE(refusal(rate(1'000'001)), "none");
}

TEST(ObjectRequests, NeedOneToSixtyFourRules) {
    const value rule{{"name", "file"}, {"create", "open_it:result"}, {"release", "close_it:arg0"}};
    const auto rules = [&](std::size_t count) {
        return parse_object_request({{"pid", 42}, {"rules", boost::json::array(count, rule)}});
    };
    const std::string wanted = "\"objects\" needs \"rules\": 1 to 64 objects";
    EXPECT_EQ(refusal(parse_object_request({{"pid", 42}})), wanted);
    EXPECT_EQ(refusal(parse_object_request({{"pid", 42}, {"rules", rule}})), wanted);
    EXPECT_EQ(refusal(rules(0)), wanted);
    EXPECT_EQ(refusal(rules(65)), wanted);
    EXPECT_EQ(rules(64)->wishes.rules.size(), 64U);
    EXPECT_EQ(refusal(parse_object_request({{"pid", 42}, {"rules", {rule, 7}}})),
              "one of \"rules\" is not an object");
}

TEST(ControlRequests, AreObjectsOfEightLevels) {
    EXPECT_EQ(parse_control_request("{\"command\":\"status\"}\n")->at("command"), "status");
    const auto nested = [](int levels) {
        std::string text = "{\"a\":";
        for (int level = 1; level < levels; ++level) text += "[";
        text += "1";
        for (int level = 1; level < levels; ++level) text += "]";
        return parse_control_request(text + "}");
    };
    EXPECT_EQ(refusal(nested(8)), "none");
    EXPECT_EQ(refusal(nested(9)), "the request is not a JSON object");
    for (const char* wrong : {"", "7", "[]", "{", "{} {}", "null"})
        EXPECT_EQ(refusal(parse_control_request(wrong)), "the request is not a JSON object");
}

TEST(FindEvent, NamesTheNearestOne) {
    std::vector<settings::Event> events(3);
    events[0].name = "checkout";
    events[1].name = "payment";
    events[2].name = "payments";
    EXPECT_EQ(find_event(events, "checkout").value(), 0U);
    EXPECT_EQ(find_event(events, "payments").value(), 2U);
    const auto near = find_event(events, "chekout");
    ASSERT_FALSE(near);
    EXPECT_EQ(near.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(near.error().message,
              "the settings have no event \"chekout\"; did you mean checkout?");
    EXPECT_EQ(find_event(events, "zzzzzzzz\n").error().message,
              "the settings have no event \"zzzzzzzz\\x0a\"");
    EXPECT_THAT(find_event({}, "a").error().message, StartsWith("the settings have no event"));
}

}  // namespace
}  // namespace lagtrap::daemon::trace_requests_test
