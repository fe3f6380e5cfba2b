#include "server/api/routes.hpp"

#include <gtest/gtest.h>

#include "core/digest.hpp"
#include "server/api/route_table.hpp"
#include "tests/unit/expected_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::server::routes_test {
namespace {

const std::string digest = sha256_of("x");
const std::string bundle = "/api/v1/bundles/" + digest;

unsigned status_of(Method method, const std::string& target) {
    const auto route = find_route(method, target);
    const auto* refusal = std::get_if<Refusal>(&route);
    return refusal == nullptr ? 200 : refusal->status;
}
std::string path_of(Method method, const std::string& target) {
    const auto route = find_route(method, target);
    const auto* found = std::get_if<Route>(&route);
    return found == nullptr ? "none" : std::string(found->row->path);
}
Route route_of(Method method, const std::string& target) {
    const auto route = find_route(method, target);
    EXPECT_TRUE(std::holds_alternative<Route>(route)) << target;
    return std::holds_alternative<Route>(route) ? std::get<Route>(route) : Route{};
}

TEST(Routes, BundlesByMethod) {
    for (const Method method : {Method::Put, Method::Get, Method::Head}) {
        EXPECT_EQ(path_of(method, bundle), "/api/v1/bundles/{digest}");
        EXPECT_EQ(route_of(method, bundle).row->method, method);
    }
    EXPECT_EQ(route_of(Method::Put, bundle).row->handling, Handling::BundleUpload);
    EXPECT_EQ(path_of(Method::Get, bundle + "/system"), "/api/v1/bundles/{digest}/system");
    EXPECT_EQ(path_of(Method::Head, bundle + "/system"), "/api/v1/bundles/{digest}/system");
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
    const Route route =
        route_of(Method::Get, "/api/v1/events/a%2Fb%20%3Cscript%3E+x/runs?host=web+1%2B&limit=5");
    EXPECT_EQ(route.row->path, "/api/v1/events/{event}/runs");
    EXPECT_EQ(route.arguments.at(0), "a/b <script>+x");
    EXPECT_EQ(route.parameter("host"), "web 1+");
    EXPECT_EQ(route.parameter("limit"), "5");
    EXPECT_FALSE(route.parameter("user").has_value());
    for (const char* wrong : {"%", "%0", "%zz", "%00", "%ff", "%1b"})
        EXPECT_EQ(status_of(Method::Get, "/api/v1/events/" + std::string(wrong) + "/runs"), 400U)
            << wrong;
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
    const Route route =
        route_of(Method::Get, "/api/v1/events/query/runs?host=a&build=x&host=b&limit=5");
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
    for (const char* path :
         {"/", "/event/a%2Fb?host=x", "/run/7", "/assets/main.js", "/apix", "/metricsx"})
        EXPECT_EQ(route_of(Method::Get, path).row, &page_row()) << path;
    for (const char* path :
         {"/api", "/api/", "/api/v2/events", "/api/v1/nothing", "/metrics/x", "/healthz/x"})
        EXPECT_EQ(
            status_of(Method::Get, path),
            path == std::string("/metrics/x") || path == std::string("/healthz/x") ? 200U : 404U)
            << path;
}

TEST(Routes, NeedWhatTheyDo) {
    const auto need = [](Method method, const std::string& target) {
        return route_of(method, target).row->need;
    };
    for (const char* open : {"/", "/healthz", "/api/v1/openapi.yaml", "/api/v1/session/ways"})
        EXPECT_FALSE(need(Method::Get, open).has_value()) << open;
    EXPECT_FALSE(need(Method::Post, "/api/v1/session").has_value());
    EXPECT_EQ(need(Method::Put, bundle)->right, Right::Upload);
    EXPECT_EQ(need(Method::Head, "/api/v1/batches/" + digest)->or_else, Right::Read);
    for (const std::string& read :
         {std::string("/api/v1/events"), std::string("/metrics"), bundle + "/trace"})
        EXPECT_EQ(need(Method::Get, read)->or_else, Right::Read) << read;
    EXPECT_EQ(need(Method::Post, "/api/v1/compare")->or_else, Right::Read);
    for (const char* admin :
         {"/api/v1/accounts", "/api/v1/tokens", "/api/v1/teams", "/api/v1/rules"})
        EXPECT_EQ(need(Method::Get, admin)->or_else, Right::Administer) << admin;
}

// Every route that changes something needs a known person or program, and limits its body.
TEST(Routes, EveryRowHoldsTogether) {
    for (const RouteRow& row : route_rows()) {
        const bool upload =
            row.handling == Handling::BundleUpload || row.handling == Handling::BatchUpload;
        EXPECT_EQ(row.answer == nullptr, upload) << row.path;
        if (row.method == Method::Delete) {
            EXPECT_TRUE(row.need.has_value()) << row.path;
        }
        if (row.method == Method::Get || row.method == Method::Head) {
            EXPECT_EQ(row.body_limit_bytes, 0U) << row.path;
        }
        for (const RouteRow& other : route_rows())
            EXPECT_TRUE(&row == &other || row.method != other.method || row.path != other.path)
                << row.path;
    }
}

// "METHOD PATH?parameters, right or right, threads, bytes of a body, handling".
std::string text_of(const RouteRow& row) {
    constexpr const char* methods[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "other"};
    constexpr const char* handlings[] = {"", ", whole machine", ", sign-in line", ", bundle upload",
                                         ", batch upload"};
    constexpr const char* works[] = {"light", "heavy", "sign-in", "health"};
    std::string text = std::string(methods[static_cast<int>(row.method)]) + " " +
                       std::string(row.path) + "?" + std::string(row.parameters) + ", ";
    text += !row.need ? "anybody"
                      : std::string(right_name(row.need->right)) +
                            (row.need->right == row.need->or_else
                                 ? ""
                                 : " or " + std::string(right_name(row.need->or_else)));
    text += ", " + std::string(works[static_cast<int>(row.work)]);
    if (row.body_limit_bytes > 0) text += ", " + std::to_string(row.body_limit_bytes) + " bytes";
    return text + handlings[static_cast<int>(row.handling)] + "\n";
}

TEST(Routes, AreAllAsListed) {
    std::string text;
    for (const RouteRow& row : route_rows()) text += text_of(row);
    text += text_of(page_row());
    expect_text_of_file(test_data_folder() + "/server/routes.txt", text);
}

TEST(Routes, WhatIsWrongWithAnAddressIsSaid) {
    const auto said = [](Method method, const std::string& target) {
        const auto found = find_route(method, target);
        const auto* refusal = std::get_if<Refusal>(&found);
        return refusal == nullptr ? std::string("nothing")
                                  : std::to_string(refusal->status) + " " + refusal->message +
                                        " | " + refusal->hint;
    };
    const std::string digits =
        "404 no such address | the address of a bundle or batch ends with the 64 lower-case "
        "hexadecimal digits of its SHA-256";
    EXPECT_EQ(said(Method::Get, "/api/v1/bundles/abc"), digits);
    EXPECT_EQ(said(Method::Put, "/api/v1/batches/ABC"), digits);
    EXPECT_EQ(said(Method::Get, "/api/v1/nothing"),
              "404 no such address | /api/v1/openapi.yaml lists the addresses");
    EXPECT_EQ(said(Method::Delete, "/api/v1/events"),
              "405 the address does not know this method | /api/v1/openapi.yaml lists the methods");
    EXPECT_EQ(said(Method::Post, "/event/x"), "405 only GET and HEAD | ");
    EXPECT_EQ(said(Method::Get, "/api/v1/events/%ff/trend"),
              "400 the address is not percent-encoded UTF-8 | ");
    EXPECT_EQ(said(Method::Get, "/api/v1/events?host=%f"),
              "400 the query is not percent-encoded UTF-8 | ");
    EXPECT_EQ(said(Method::Get, "/api/v1/events?ho%1bst=a"),
              "400 the query is not percent-encoded UTF-8 | ");
    EXPECT_EQ(
        said(Method::Get, "/api/v1/events?" + std::string(65, 'n') + "=a"),
        "400 the query has \"" + std::string(64, 'n') + "\", which this address does not know | ");
    EXPECT_EQ(said(Method::Get, "/api/v1/events?F=a"),
              "400 the query has \"F\", which this address does not know | ");
    EXPECT_EQ(said(Method::Get, "/api/v1/events?from=1&from=2"),
              "400 the query has \"from\" twice | ");
    std::string hosts = "/api/v1/events?host=a";
    for (int i = 1; i < 100; ++i) hosts += "&host=b";
    EXPECT_EQ(said(Method::Get, hosts), "nothing");
    EXPECT_EQ(said(Method::Get, hosts + "&unit=u"), "nothing");
    EXPECT_EQ(said(Method::Get, hosts + "&host=c"),
              "400 the query has \"host\" more than 100 times | ");
}

TEST(Routes, TextsInAddressesAreDecoded) {
    const Route route =
        route_of(Method::Get, "/api/v1/events/a%2Fb+c%c3%A4/runs?host=x+y%2b&host=");
    EXPECT_EQ(route.path, "/api/v1/events/a%2Fb+c%c3%A4/runs");
    ASSERT_EQ(route.arguments.size(), 1U);
    EXPECT_EQ(route.arguments[0], "a/b+c\xc3\xa4");
    EXPECT_EQ(route.parameters("host"), (std::vector<std::string_view>{"x y+", ""}));
    EXPECT_EQ(route.parameter("host"), "x y+");
    EXPECT_FALSE(route.parameter("unit").has_value());
    for (const char* bad : {"%", "a%4", "%4g", "%g4", "%00", "a%0ab", "\xff"})
        EXPECT_FALSE(decode_percent(bad, Plus::Itself).has_value()) << bad;
    EXPECT_EQ(decode_percent("%41%5a%61%39", Plus::Itself), "AZa9");
    EXPECT_EQ(decode_percent("a+b", Plus::Blank), "a b");
}

TEST(Routes, AFilterIsReadLikeAQuery) {
    const auto read =
        read_filter_query("host=a&host=b&build=c&from=5&dirty=1&outliers=1&start=cold");
    ASSERT_TRUE(std::holds_alternative<Route>(read));
    EXPECT_EQ(std::get<Route>(read).query.size(), 7U);
    const auto wrong = read_filter_query("event=a");
    ASSERT_TRUE(std::holds_alternative<Refusal>(wrong));
    EXPECT_EQ(std::get<Refusal>(wrong).message,
              "the query has \"event\", which this address does not know");
}

}  // namespace
}  // namespace lagtrap::server::routes_test
