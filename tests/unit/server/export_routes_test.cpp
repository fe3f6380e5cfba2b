#include "server/api/export_routes.hpp"

#include <map>
#include <sstream>

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::export_routes_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t monday_ns = 20'003ULL * 86'400 * 1000 * ms;
const std::string bundle(64, 'b');

Route route_of(std::vector<std::string> arguments,
               std::vector<std::pair<std::string, std::string>> query = {}) {
    Route route;
    route.arguments = std::move(arguments);
    route.query = std::move(query);
    return route;
}

// Each row of a CSV file, by the names of its columns. No cell has a comma here.
std::vector<std::map<std::string, std::string>> rows_of(const Reply& file) {
    std::string text, buffer(100, '\0');
    while (const std::size_t got = file.source->read(buffer.data(), buffer.size()).value())
        text.append(buffer, 0, got);
    std::istringstream lines(text);
    std::vector<std::string> names;
    std::vector<std::map<std::string, std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(line.ends_with('\r')) << line;
        line.back() = ',';
        std::vector<std::string> cells;
        std::istringstream rest(line);
        for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
        if (names.empty()) {
            names = cells;
            continue;
        }
        EXPECT_EQ(cells.size(), names.size()) << line;
        for (std::size_t i = 0; i < names.size(); ++i) rows.emplace_back()[names[i]] = cells.at(i);
        const std::size_t first = rows.size() - names.size();
        for (std::size_t i = 1; i < names.size(); ++i) rows[first].merge(rows[first + i]);
        rows.resize(first + 1);
    }
    return rows;
}

class ExportRoutes : public StoreFixture {
  protected:
    void SetUp() override {
        StoreFixture::SetUp();
        trace::RunBatch batch;
        batch.host = "web-1";
        for (std::uint64_t i = 0; i < 2; ++i) {
            trace::RecordedRun& run = batch.runs.emplace_back();
            run.event = "search";
            run.begin_realtime_ns = monday_ns + i * 1000 * ms;
            run.duration_ns = 100 * ms + i;
            run.threshold_ns = 50 * ms;
            run.delay = i == 0;
            run.user = "ann";
            run.build_id = "v1";
            run.process = "shop";
            run.executable = "/usr/bin/shop";
            run.pid = 11;
            run.begin_tid = 12;
            run.end_tid = 13;
            run.thread = "worker";
            run.start = i == 0 ? trace::StartKind::Warm : trace::StartKind::Cold;
            run.weight = 7;
            run.unit = "shop.service";
        }
        trace::RunTimes& times = batch.runs[0].times.emplace();
        times.parts = {21, 22, 23, {}};
        times.parts.blocked_ns[0] = 24;
        times.parts.blocked_ns[1] = 100;
        times.handed_over_ns = 25;
        batch.runs[1].dirty_reasons = trace::DirtyFailed;
        ASSERT_TRUE(
            store_->batches().add_batch({std::string(64, 'a'), 1, monday_ns, ""}, batch).ok());
        add_bundle();
        const auto listed =
            store_->everything().runs().list(Filter{}, RunOrder::Newest, 9, std::nullopt);
        if (listed.ok() && !listed->runs.empty()) {
            ASSERT_TRUE(
                store_->everything()
                    .marks()
                    .mark_dirty({{listed->runs.back().id, true, rule_duration, "far", "", 5}})
                    .ok());
        }
    }
    void add_bundle() {
        BundleRow row;
        row.digest = bundle;
        row.received_realtime_ns = monday_ns;
        ASSERT_TRUE(store_->inventory().add(row, {"parse", bundle, monday_ns}).ok());
        BundleDelay delay;
        delay.number = 3;
        delay.event = "search";
        delay.begin_realtime_ns = monday_ns;
        delay.duration_ns = 101 * ms;
        delay.threshold_ns = 51 * ms;
        delay.user = "bob";
        delay.build = "v2";
        delay.process = "store";
        delay.pid = 11;
        delay.tid = 12;
        delay.thread = "helper";
        delay.unit = "store.service";
        delay.details = R"({"on_cpu_ns":31,"runnable_ns":32,"blocked_ns":33,"handed_over_ns":34,)"
                        R"("unknown_ns":35})";
        BundleFacts facts;
        facts.host = "web-1";
        ASSERT_TRUE(store_->inventory().set_contents(bundle, facts, {}, {delay}).value());
    }
};

TEST_F(ExportRoutes, ARunHasItsFactsInItsColumns) {
    const auto rows =
        rows_of(export_runs(store_->everything().runs(), route_of({"search"}, {{"dirty", "1"}})));
    ASSERT_EQ(rows.size(), 2U);
    auto delayed = rows[1];
    EXPECT_FALSE(delayed.at("id").empty());
    delayed.erase("id");
    EXPECT_THAT(
        delayed,
        ElementsAre(Pair("begin", "2024-10-07T00:00:00.000000Z"),
                    Pair("begin_ns", std::to_string(monday_ns)), Pair("blocked_ns", "124"),
                    Pair("build", "v1"), Pair("bundle", bundle), Pair("bundle_delay", "3"),
                    Pair("delay", "1"), Pair("duration_ns", "100000000"), Pair("event", "search"),
                    Pair("executable", "/usr/bin/shop"), Pair("handed_over_ns", "25"),
                    Pair("hidden", ""), Pair("host", "web-1"), Pair("on_cpu_ns", "21"),
                    Pair("outlier", "1"), Pair("pid", "11"), Pair("process", "shop"),
                    Pair("runnable_ns", "22"), Pair("start", "warm"), Pair("thread", "worker"),
                    Pair("threshold_ns", "50000000"), Pair("throttled_ns", "23"), Pair("tid", "12"),
                    Pair("unit", "shop.service"), Pair("user", "ann"), Pair("weight", "7")));
    auto hidden = rows[0];
    EXPECT_EQ(hidden.at("hidden"), "reported");
    EXPECT_EQ(hidden.at("delay"), "0");
    EXPECT_EQ(hidden.at("outlier"), "0");
    EXPECT_EQ(hidden.at("start"), "cold");
    EXPECT_EQ(hidden.at("bundle") + hidden.at("bundle_delay"), "");
    EXPECT_EQ(hidden.at("on_cpu_ns"), "");
}

TEST_F(ExportRoutes, ADelayHasItsFactsInItsColumns) {
    const auto rows = rows_of(export_delays(store_->everything().delays(), route_of({})));
    ASSERT_EQ(rows.size(), 1U);
    auto delay = rows[0];
    EXPECT_FALSE(delay.at("run").empty());
    delay.erase("run");
    EXPECT_THAT(
        delay,
        ElementsAre(Pair("begin", "2024-10-07T00:00:00.000000Z"),
                    Pair("begin_ns", std::to_string(monday_ns)), Pair("blocked_ns", "33"),
                    Pair("build", "v2"), Pair("bundle", bundle), Pair("duration_ns", "101000000"),
                    Pair("event", "search"), Pair("handed_over_ns", "34"), Pair("host", "web-1"),
                    Pair("number", "3"), Pair("on_cpu_ns", "31"), Pair("pid", "11"),
                    Pair("process", "store"), Pair("runnable_ns", "32"), Pair("thread", "helper"),
                    Pair("threshold_ns", "51000000"), Pair("tid", "12"),
                    Pair("unit", "store.service"), Pair("unknown_ns", "35"), Pair("user", "bob")));
}

TEST_F(ExportRoutes, AnExportIsOfTheFilterAndOfAllPages) {
    trace::RunBatch batch;
    batch.host = "web-2";
    for (std::uint64_t i = 0; i < 1500; ++i) {
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "many";
        run.begin_realtime_ns = monday_ns + i;
        run.duration_ns = i + 1;
        run.build_id = i % 2 == 0 ? "even" : "odd";
    }
    ASSERT_TRUE(store_->batches().add_batch({std::string(64, 'c'), 1, monday_ns, ""}, batch).ok());
    const RunStore runs = store_->everything().runs();
    const auto all = rows_of(export_runs(runs, route_of({"many"})));
    ASSERT_EQ(all.size(), 1500U);
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i].at("duration_ns"), std::to_string(1500 - i));
    EXPECT_EQ(rows_of(export_runs(runs, route_of({"many"}, {{"build", "odd"}}))).size(), 750U);
    EXPECT_THAT(rows_of(export_runs(runs, route_of({"none"}))), IsEmpty());
    EXPECT_THAT(
        rows_of(export_delays(store_->everything().delays(), route_of({}, {{"host", "web-2"}}))),
        IsEmpty());
}

}  // namespace
}  // namespace lagtrap::server::export_routes_test
