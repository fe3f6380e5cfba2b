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
        "shed: event zebra.payroll has no stages",
        "shed: event zebra.payroll is not watched: zebra"]})");
    leave_out_other_events(quality);
    EXPECT_EQ(boost::json::serialize(quality).find("zebra"), std::string::npos);
    EXPECT_EQ(boost::json::serialize(quality.at("notes")),
              R"(["the recording was cut short",)"
              R"("to save CPU time lagtrapd did not watch all that it was set to"])");
    EXPECT_EQ(quality.at("samples"), 5);
    for (const char* other :
         {"null", "{}", R"({"notes":[]})", R"({"notes":["the recording was cut short"]})"}) {
        auto same = boost::json::parse(other);
        leave_out_other_events(same);
        EXPECT_EQ(same, boost::json::parse(other)) << other;
    }
}

}  // namespace
}  // namespace lagtrap::server::delay_routes_test
