#include "server/api/delay_routes.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::delay_routes_test {
namespace {

TEST(DelayRoutes, NeighboursGoAndTheDelaysOwnStays) {
    auto delay = boost::json::parse(
                     R"({"number":1,"cause":{"sentences":["secret had CPU 1"]},
               "surroundings":{"command_line":"shopd --all","cpu_use":{"idle_ns":5},
               "cpu_holders":[{"command_line":"secret"}],"started":[{"command_line":"secret"}]}})")
                     .as_object();
    leave_out_neighbours(delay);
    EXPECT_EQ(boost::json::serialize(delay).find("secret"), std::string::npos);
    const auto& around = delay["surroundings"].as_object();
    EXPECT_EQ(around.at("command_line").as_string(), "shopd --all");
    EXPECT_TRUE(around.at("cpu_use").is_null());
    EXPECT_TRUE(around.at("cpu_holders").as_array().empty());
}

TEST(DelayRoutes, WithoutSurroundingsThereIsNothingToLeaveOut) {
    auto delay = boost::json::parse(R"({"number":1,"surroundings":null})").as_object();
    leave_out_neighbours(delay);
    EXPECT_TRUE(delay["surroundings"].is_null());
}

TEST(DelayRoutes, NotesNameNoOtherEvents) {
    auto quality = boost::json::parse(R"({"samples":5,"notes":["the recording was cut short",
        "omitted: event zebra.payroll has no stages",
        "shed: event zebra.payroll is not watched: zebra"]})");
    leave_out_other_events(quality);
    EXPECT_EQ(boost::json::serialize(quality).find("zebra"), std::string::npos);
    EXPECT_EQ(boost::json::serialize(quality.at("notes")),
              R"(["the recording was cut short",)"
              R"("to save CPU time lagtrapd did not watch all that it was set to"])");
    EXPECT_EQ(quality.at("samples"), 5);
    auto odd = boost::json::parse(R"({"notes":[{"zebra":1}]})");
    leave_out_other_events(odd);
    EXPECT_EQ(boost::json::serialize(odd).find("zebra"), std::string::npos) << "no text";
    for (const char* other :
         {"null", "{}", R"({"notes":[]})", R"({"notes":["the recording was cut short"]})"}) {
        auto same = boost::json::parse(other);
        leave_out_other_events(same);
        EXPECT_EQ(same, boost::json::parse(other)) << other;
    }
}

TEST(DelayRoutes, AQuestionNamesADelayAnOrderAndAPart) {
    const auto read = [](std::vector<std::pair<std::string, std::string>> query) {
        Route route;
        route.query = std::move(query);
        return read_delay_question(route, 7);
    };
    const auto usual = std::get<DelayQuestion>(read({}));
    EXPECT_FALSE(usual.number);
    EXPECT_EQ(usual.order, RunOrder::Newest);
    EXPECT_EQ(usual.part.limit, 7U);
    EXPECT_FALSE(usual.part.after);
    const auto all = std::get<DelayQuestion>(
        read({{"number", "4294967295"}, {"order", "slowest"}, {"limit", "9"}, {"after", "5-6"}}));
    EXPECT_EQ(all.number, 4294967295U);
    EXPECT_EQ(all.order, RunOrder::Slowest);
    EXPECT_EQ(all.part.limit, 9U);
    EXPECT_EQ(all.part.after, (PageKey{5, 6}));
    EXPECT_EQ(std::get<DelayQuestion>(read({{"number", "1"}})).number, 1U);
    EXPECT_EQ(std::get<DelayQuestion>(read({{"order", "oldest"}})).order, RunOrder::Oldest);
    for (const char* wrong : {"0", "4294967296", "x", ""}) {
        const auto refused = read({{"number", wrong}});
        ASSERT_TRUE(std::holds_alternative<Refusal>(refused)) << wrong;
        EXPECT_EQ(std::get<Refusal>(refused).status, 400U);
        EXPECT_EQ(std::get<Refusal>(refused).message,
                  "\"number\": expected a delay's number, from 1");
    }
    EXPECT_EQ(std::get<Refusal>(read({{"order", "x"}})).message,
              "\"order\": expected newest, slowest or oldest");
    EXPECT_TRUE(std::holds_alternative<Refusal>(read({{"limit", "0"}})));
}

}  // namespace
}  // namespace lagtrap::server::delay_routes_test
