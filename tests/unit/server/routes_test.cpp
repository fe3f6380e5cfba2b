#include "server/api/routes.hpp"

#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::server {
namespace {

const std::string digest = sha256_of("x");
const std::string bundle = "/api/v1/bundles/" + digest;

unsigned status_of(Method method, const std::string& target) {
    const auto route = find_route(method, target);
    const auto* refusal = std::get_if<Refusal>(&route);
    return refusal == nullptr ? 200 : refusal->status;
}
Route route_of(Method method, const std::string& target) {
    const auto route = find_route(method, target);
    EXPECT_TRUE(std::holds_alternative<Route>(route)) << target;
    return std::holds_alternative<Route>(route) ? std::get<Route>(route) : Route{};
}

TEST(Routes, BundlesByMethod) {
    EXPECT_EQ(route_of(Method::Put, bundle).kind, RouteKind::PutBundle);
    EXPECT_EQ(route_of(Method::Get, bundle).kind, RouteKind::GetBundle);
    EXPECT_EQ(route_of(Method::Head, bundle).kind, RouteKind::HasBundle);
    EXPECT_EQ(route_of(Method::Get, bundle + "/system").kind, RouteKind::GetSystemFile);
    EXPECT_EQ(route_of(Method::Head, bundle + "/system").kind, RouteKind::GetSystemFile);
    EXPECT_EQ(route_of(Method::Put, bundle).arguments.at(0), digest);
    EXPECT_EQ(status_of(Method::Other, bundle), 405U);
    EXPECT_EQ(status_of(Method::Delete, bundle), 405U);
    EXPECT_EQ(status_of(Method::Put, bundle + "/system"), 405U);
    EXPECT_EQ(status_of(Method::Post, "/"), 405U);
}

TEST(Routes, OnlyDigestsAreAddresses) {
    for (const std::string& tail : {std::string("../../etc/passwd"), digest.substr(1), digest + "0",
                                    "X" + digest.substr(1), std::string(), "%2e%2e/" + digest})
        EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles/" + tail), 404U) << tail;
    EXPECT_EQ(status_of(Method::Get, bundle + "/"), 404U);
    EXPECT_EQ(status_of(Method::Get, bundle + "/system/x"), 404U);
}

TEST(Routes, NamesAreDecoded) {
    const Route route = route_of(Method::Get, "/api/v1/events/a%2Fb%20%3Cscript%3E+x/runs?host=web+1%2B&limit=5");
    EXPECT_EQ(route.kind, RouteKind::ListRuns);
    EXPECT_EQ(route.arguments.at(0), "a/b <script>+x");
    EXPECT_EQ(route.parameter("host"), "web 1+");
    EXPECT_EQ(route.parameter("limit"), "5");
    EXPECT_FALSE(route.parameter("user").has_value());
    for (const char* wrong : {"%", "%0", "%zz", "%00", "%ff", "%1b"})
        EXPECT_EQ(status_of(Method::Get, "/api/v1/events/" + std::string(wrong) + "/runs"), 400U) << wrong;
    EXPECT_EQ(status_of(Method::Get, "/api/v1/events//runs"), 404U);
}

TEST(Routes, QueriesHoldWhatTheAddressKnows) {
    EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles?limit=5&event=query"), 200U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles?order=slowest"), 400U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles?F=1"), 400U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles?limit=5&limit=6"), 400U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/events?search=%"), 400U);
    EXPECT_EQ(status_of(Method::Get, "/healthz?x=1"), 400U);
}

TEST(Routes, NamesOfAFilterMayStandSeveralTimes) {
    const Route route = route_of(Method::Get, "/api/v1/events/query/runs?host=a&build=x&host=b&limit=5");
    EXPECT_EQ(route.parameters("host"), (std::vector<std::string_view>{"a", "b"}));
    EXPECT_EQ(route.parameters("build"), (std::vector<std::string_view>{"x"}));
    EXPECT_TRUE(route.parameters("user").empty());
    EXPECT_EQ(status_of(Method::Get, "/api/v1/events/query/runs?from=1&from=2"), 400U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/causes?event=a&event=b"), 400U);
    std::string many = "/api/v1/bundles?unit=0";
    for (int i = 1; i < 100; ++i) many += "&unit=" + std::to_string(i);
    EXPECT_EQ(route_of(Method::Get, many).parameters("unit").size(), 100U);
    EXPECT_EQ(status_of(Method::Get, many + "&unit=x"), 400U);
    const auto set = read_filter_query("host=a&host=b");
    ASSERT_TRUE(std::holds_alternative<Route>(set));
    EXPECT_EQ(std::get<Route>(set).parameters("host").size(), 2U);
}

TEST(Routes, WhatIsOfNoProgramIsAPage) {
    for (const char* path : {"/", "/event/a%2Fb?host=x", "/run/7", "/assets/main.js", "/apix", "/metricsx"})
        EXPECT_EQ(route_of(Method::Get, path).kind, RouteKind::Page) << path;
    for (const char* path : {"/api", "/api/", "/api/v2/events", "/api/v1/nothing", "/metrics/x", "/healthz/x"})
        EXPECT_EQ(status_of(Method::Get, path),
                  path == std::string("/metrics/x") || path == std::string("/healthz/x") ? 200U : 404U)
            << path;
}

TEST(Routes, NeedWhatTheyDo) {
    for (const RouteKind open : {RouteKind::Page, RouteKind::Health, RouteKind::Description, RouteKind::SignIn})
        EXPECT_FALSE(need_of(open).has_value());
    EXPECT_EQ(need_of(RouteKind::PutBundle)->right, Right::Upload);
    EXPECT_EQ(need_of(RouteKind::HasBatch)->or_else, Right::Read);
    for (const RouteKind read :
         {RouteKind::ListEvents, RouteKind::Metrics, RouteKind::GetTrace, RouteKind::CompareRuns})
        EXPECT_EQ(need_of(read)->or_else, Right::Read);
    for (const RouteKind admin : {RouteKind::ListAccounts, RouteKind::AddAccount, RouteKind::DeleteAccount,
                                  RouteKind::ListTokens, RouteKind::AddToken, RouteKind::DeleteToken})
        EXPECT_EQ(need_of(admin)->or_else, Right::Administer);
}

}  // namespace
}  // namespace lagtrap::server
