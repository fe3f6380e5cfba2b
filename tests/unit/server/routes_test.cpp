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
    EXPECT_EQ(route_of(Method::Put, bundle).kind, RouteKind::UploadBundle);
    EXPECT_EQ(route_of(Method::Get, bundle).kind, RouteKind::GetBundle);
    EXPECT_EQ(route_of(Method::Head, bundle).kind, RouteKind::FindBundle);
    EXPECT_EQ(route_of(Method::Get, bundle + "/system").kind, RouteKind::SystemFile);
    EXPECT_EQ(route_of(Method::Put, bundle).digest, digest);
    EXPECT_EQ(status_of(Method::Other, bundle), 405U);
    EXPECT_EQ(status_of(Method::Put, bundle + "/system"), 405U);
    EXPECT_EQ(status_of(Method::Put, "/"), 405U);
}

TEST(Routes, OnlyDigestsAreAddresses) {
    for (const std::string& tail : {std::string("../../etc/passwd"), digest.substr(1), digest + "0",
                                    "X" + digest.substr(1), std::string(), "%2e%2e/" + digest})
        EXPECT_EQ(status_of(Method::Get, "/api/v1/bundles/" + tail), 404U) << tail;
    EXPECT_EQ(status_of(Method::Get, bundle + "/"), 404U);
    EXPECT_EQ(status_of(Method::Get, bundle + "/system/x"), 404U);
    EXPECT_EQ(status_of(Method::Get, ""), 404U);
    EXPECT_EQ(status_of(Method::Get, "/api/v1/bundlesx"), 404U);
}

TEST(Routes, ListsTakeLimitAndBefore) {
    const Route route = route_of(Method::Get, "/api/v1/bundles?limit=7&before=99");
    EXPECT_EQ(route.kind, RouteKind::List);
    EXPECT_EQ(route.limit, 7U);
    EXPECT_EQ(route.before, 99);
    EXPECT_EQ(route_of(Method::Get, "/").limit, list_limit_default);
    for (const char* query : {"limit=0", "limit=501", "limit=-1", "limit=x", "before=", "before=99999999999999999999",
                              "other=1", "limit", "limit=1%20"})
        EXPECT_EQ(status_of(Method::Get, std::string("/api/v1/bundles?") + query), 400U) << query;
}

TEST(Routes, EveryRouteButHealthAndStyleNeedsAScope) {
    EXPECT_FALSE(need_of(RouteKind::Health).has_value());
    EXPECT_FALSE(need_of(RouteKind::Style).has_value());
    EXPECT_EQ(need_of(RouteKind::UploadBundle)->scope, Scope::Upload);
    EXPECT_FALSE(need_of(RouteKind::UploadBundle)->or_else.has_value());
    for (const auto kind :
         {RouteKind::Page, RouteKind::List, RouteKind::GetBundle, RouteKind::SystemFile, RouteKind::Metrics})
        EXPECT_EQ(need_of(kind)->scope, Scope::Read);
}

}  // namespace
}  // namespace lagtrap::server
