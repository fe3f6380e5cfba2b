// The flame graph of a delay.
#include "server/api/report_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "analysis/run_profile.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::report_routes_test {
namespace {

namespace json = boost::json;
using analysis::TimeKind;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t monday_ns = 20'003ULL * 86'400 * 1000 * ms;
const std::string digest(64, 'a'), bad_digest(64, 'b');

// 30 ms on a CPU in main, and as a delay 70 ms waiting for a lock.
std::string profile(const std::string& event, bool delayed) {
    analysis::RunProfile made;
    made.event = event;
    made.delay = delayed;
    made.frames = {{"main", "/usr/bin/app", false}};
    made.nodes = {{}, {0, 0}};
    made.texts = {"", "lock (futex)"};
    made.entries = {{30 * ms, {{TimeKind::OnCpu, 0, 0, 1}}}};
    if (delayed)
        made.entries.insert(made.entries.begin(), {70 * ms, {{TimeKind::Blocked, 1, 0, 1}}});
    made.duration_ns = delayed ? 100 * ms : 30 * ms;
    auto bytes = analysis::write_run_profile(made);
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? std::move(bytes).value() : "";
}

BundleDelay delay_of(std::uint32_t number, const std::string& event, const std::string& bytes) {
    BundleDelay made;
    made.number = number;
    made.delayed = number > 0;
    made.event = event;
    made.begin_realtime_ns = monday_ns + number;
    made.duration_ns = 100 * ms;
    made.profile = bytes;
    return made;
}

// Delay 1 has a profile, 2 has none, 3 has a damaged one; beside them are a normal run of its event
// and one of another.
class ReportRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        add(digest, "",
            {delay_of(1, "open", profile("open", true)), delay_of(2, "open", ""),
             delay_of(3, "open", "x"), delay_of(0, "open", profile("open", false)),
             delay_of(0, "close", profile("close", false))});
        add(bad_digest, "it is cut short", {});
    }
    void add(const std::string& of, const std::string& bad_reason,
             const std::vector<BundleDelay>& delays) {
        BundleRow row;
        row.digest = of;
        ASSERT_TRUE(store_->inventory().add(row, {"parse", of, 1}).ok());
        ASSERT_TRUE(store_->inventory().set_contents(of, {}, bad_reason, delays).ok());
    }
    Reply ask(const std::string& of, const std::string& number,
              std::vector<std::pair<std::string, std::string>> query = {}) {
        Route route;
        route.arguments = {of, number};
        route.query = std::move(query);
        return get_profile(store_->everything(), route);
    }
    json::value flame(std::vector<std::pair<std::string, std::string>> query = {}) {
        const Reply reply = ask(digest, "1", std::move(query));
        EXPECT_EQ(reply.status, 200U) << reply.body;
        return json::parse(reply.body);
    }
    // "422 the reason"
    std::string refusal(const Reply& reply) {
        const json::value body = json::parse(reply.body);
        return std::to_string(reply.status) + " " +
               json::value_to<std::string>(body.at("error").at("message"));
    }
};

TEST_F(ReportRoutes, ADelayHasAFlameGraph) {
    const json::value whole = flame();
    EXPECT_EQ(whole.at("unit"), "ns");
    EXPECT_EQ(whole.at("total"), 100 * ms);
    EXPECT_TRUE(whole.at("baseline_total").is_null());
    EXPECT_EQ(whole.at("baseline_runs"), 0);
    EXPECT_EQ(whole.at("dropped"), 0);
    EXPECT_EQ(json::serialize(whole.at("nodes")),
              "[[-1,0,100000000,0,0],[0,1,100000000,0,0],[1,2,70000000,0,3]]");
    EXPECT_EQ(json::serialize(whole.at("names")),
              R"([{"function":"","module":""},{"function":"main","module":"/usr/bin/app"},)"
              R"_({"function":"blocked: lock (futex)","module":""}])_");
}

TEST_F(ReportRoutes, APartOfTheTimeCanBeAskedFor) {
    EXPECT_EQ(flame({{"state", "all"}}).at("total"), 100 * ms);
    EXPECT_EQ(flame({{"state", "on-cpu"}}).at("total"), 30 * ms);
    EXPECT_EQ(flame({{"state", "off-cpu"}}).at("total"), 70 * ms);
    EXPECT_EQ(refusal(ask(digest, "1", {{"state", "asleep"}})),
              "400 \"state\": expected all, on-cpu or off-cpu");
}

TEST_F(ReportRoutes, NormalRunsOfItsEventStandBesideIt) {
    const json::value both = flame({{"against", "normal"}});
    EXPECT_EQ(both.at("baseline_runs"), 1) << "not that of another event";
    EXPECT_EQ(both.at("baseline_total"), 30 * ms);
    EXPECT_EQ(both.at("total"), 100 * ms);
    EXPECT_EQ(refusal(ask(digest, "1", {{"against", "others"}})),
              "400 \"against\": expected normal");
}

TEST_F(ReportRoutes, WhatHasNoFlameGraphSaysWhy) {
    EXPECT_EQ(refusal(ask(std::string(64, 'c'), "1")), "404 there is no such bundle");
    EXPECT_EQ(refusal(ask(bad_digest, "1")),
              "422 the bundle is kept but cannot be read: it is cut short");
    for (const char* number : {"4", "x", "", "4294967297"})
        EXPECT_EQ(refusal(ask(digest, number)), "404 there is no such delay") << number;
    EXPECT_EQ(refusal(ask(digest, "2")), "422 the bundle has no profile of this delay");
    EXPECT_THAT(refusal(ask(digest, "3")), testing::StartsWith("422 the profile cannot be read: "));
}

}  // namespace
}  // namespace lagtrap::server::report_routes_test
