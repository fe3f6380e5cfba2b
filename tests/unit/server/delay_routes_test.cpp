#include "server/api/delay_routes.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::delay_routes_test {
namespace {

TEST(DelayRoutes, NeighboursGoAndTheDelaysOwnStays) {
    auto delay = boost::json::parse(R"({"number":1,"surroundings":{"command_line":"shopd --all","cpu_use":{"idle_ns":5},
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

}  // namespace
}  // namespace lagtrap::server::delay_routes_test
