#include "server/api/cause_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::cause_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t day = 86'400'000 * ms;

// Days before today, because older ones are left out.
class CauseDays : public StoreFixture {
  protected:
    void add_runs(std::uint64_t begin_ns, const std::string& build, std::uint32_t runs,
                  std::uint32_t delays) {
        trace::RunBatch batch;
        batch.host = "alpha";
        for (std::uint32_t i = 0; i < runs; ++i) {
            trace::RecordedRun run;
            run.event = "open";
            run.begin_realtime_ns = begin_ns + i;
            run.duration_ns = i < delays ? 90 * ms : 10 * ms;
            run.threshold_ns = 50 * ms;
            run.delay = i < delays;
            run.build_id = build;
            batch.runs.push_back(run);
        }
        const auto added =
            store_->batches().add_batch({digest_of(++uploads_), 9, today_ns_, "rack"}, batch);
        ASSERT_TRUE(added.ok()) << added.error().message;
    }
    // Records delays that begin then, of which the first `of_cause` have the cause.
    void add_delays(std::uint64_t begin_ns, std::uint32_t count, std::uint32_t of_cause) {
        BundleRow row;
        row.digest = digest_of(++uploads_);
        ASSERT_TRUE(store_->inventory().add(row, {"parse", row.digest, 0}).ok());
        BundleFacts facts;
        facts.host = "alpha";
        std::vector<BundleDelay> delays(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            delays[i].number = i + 1;
            delays[i].event = "open";
            delays[i].begin_realtime_ns = begin_ns + i;
            delays[i].duration_ns = 90 * ms;
            delays[i].profile = "profile";
            if (i < of_cause)
                sightings_.push_back({row.digest, i + 1, "alpha", "v2", begin_ns + i, 40 * ms, {}});
        }
        ASSERT_TRUE(store_->inventory().set_contents(row.digest, facts, {}, delays).ok());
    }
    json::value cause() {
        const auto noted = store_->found_causes().note_causes(
            "open", {{"sig", "waits", "blocked", "disk", "[]", sightings_, {}}}, today_ns_);
        EXPECT_TRUE(noted.ok() && noted->size() == 1);
        Route route;
        route.arguments = {std::to_string(noted->front().id)};
        return json::parse(get_cause(store_->everything(), route).body);
    }
    static std::string digest_of(std::uint64_t number) {
        std::string digits = std::to_string(number);
        return digits.insert(0, 64 - digits.size(), '0');
    }

    const std::uint64_t today_ns_ = ClockSnapshot::take().realtime_ns / day * day;
    std::vector<CauseSighting> sightings_;
    std::uint64_t uploads_ = 0;
};

TEST_F(CauseDays, HaveTheShareOfRunsThatTheCauseDelays) {
    add_runs(today_ns_ - 5 * day, "v1", 20, 2);
    add_runs(today_ns_ - 3 * day, "v1", 10, 0);
    add_runs(today_ns_ - 3 * day, "v2", 10, 8);
    // Half of the delays that were recorded have it.
    add_delays(today_ns_ - 3 * day, 4, 2);
    // No runs are known of this day.
    add_delays(today_ns_ - 2 * day, 1, 1);
    const json::value found = cause();
    const auto digits = [](std::uint64_t value) { return std::to_string(value); };
    EXPECT_EQ(
        found.at("days"),
        (json::value{
            {{"from_ns", digits(today_ns_ - 3 * day)}, {"delays", 2}, {"rate", 2.0 / 4 * 8 / 20}},
            {{"from_ns", digits(today_ns_ - 2 * day)}, {"delays", 1}, {"rate", nullptr}}}));
    EXPECT_EQ(found.at("builds"),
              (json::value{{{"build", "v1"}, {"from_ns", digits(today_ns_ - 5 * day)}},
                           {{"build", "v2"}, {"from_ns", digits(today_ns_ - 3 * day)}}}));
    EXPECT_EQ(found.at("by_host"),
              (json::value(json::array{json::object{{"host", "alpha"},
                                                    {"delays", 3},
                                                    {"first_ns", digits(today_ns_ - 3 * day)},
                                                    {"last_ns", digits(today_ns_ - 2 * day)}}})));
    EXPECT_EQ(found.at("by_build"),
              (json::value(json::array{json::object{{"build", "v2"},
                                                    {"delays", 3},
                                                    {"first_ns", digits(today_ns_ - 3 * day)},
                                                    {"last_ns", digits(today_ns_ - 2 * day)}}})));
    EXPECT_EQ(found.at("newest_delays").at(0),
              (json::value{{"bundle", digest_of(5)},
                           {"delay", 1},
                           {"host", "alpha"},
                           {"build", "v2"},
                           {"begin_ns", digits(today_ns_ - 2 * day)},
                           {"excess_ns", 40 * ms}}));
    EXPECT_EQ(found.at("newest_delays").as_array().size(), 3U);
    EXPECT_EQ(found.at("delays"), 3);
}

TEST_F(CauseDays, ABuildThatRanTheDayBeforeThemIsNotNew) {
    // Two weeks are shown at least, and what ran on the day before began earlier.
    add_runs(today_ns_ - 14 * day - 1, "old", 1, 0);
    add_runs(today_ns_ - 13 * day, "old", 1, 0);
    add_runs(today_ns_ - 13 * day, "", 1, 0);
    add_runs(today_ns_ - 12 * day, "new", 1, 0);
    add_delays(today_ns_ - day, 1, 1);
    const json::value found = cause();
    ASSERT_EQ(found.at("builds").as_array().size(), 1U) << found.at("builds");
    EXPECT_EQ(found.at("builds").at(0).at("build"), "new");
}

TEST_F(CauseDays, DecisionsAreInTheAudit) {
    add_delays(today_ns_ - day, 1, 1);
    const std::string id = json::value_to<std::string>(cause().at("id"));
    Audit audit(store_->audit(), [](const std::string&) {});
    Principal principal;
    principal.kind = Principal::Kind::Session;
    principal.name = "ann";
    Request request;
    request.body = R"({"owner":"bob"})";
    Route route;
    route.arguments = {id};
    EXPECT_EQ(change_cause(store_->everything(), audit, route, principal, request).status, 200U);
    const auto entries = store_->audit().list(5, {}, AuditPart::All).value();
    ASSERT_EQ(entries.size(), 1U);
    EXPECT_EQ(entries[0].who, "ann");
    EXPECT_EQ(entries[0].action, "change cause");
    EXPECT_EQ(entries[0].object, id);
    EXPECT_EQ(entries[0].detail, R"({"owner":"bob"})");
}

}  // namespace
}  // namespace lagtrap::server::cause_routes_test
