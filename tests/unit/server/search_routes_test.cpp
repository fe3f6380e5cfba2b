#include "server/api/search_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>

#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::search_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t ms = 1'000'000;
constexpr std::uint64_t monday_ns = 20'003ULL * 86'400 * 1000 * ms;
const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";

class SearchRoutes : public StoreFixture {
  protected:
    json::object find(const std::string& words) {
        Route route;
        route.query = {{"search", words}};
        const Reply reply = search_everything(store_->everything(), route);
        EXPECT_EQ(reply.status, 200U) << reply.body;
        return json::parse(reply.body).as_object();
    }
    static std::vector<std::string> texts(const json::value& list, const char* member = nullptr) {
        std::vector<std::string> found;
        for (const json::value& one : list.as_array())
            found.push_back(json::value_to<std::string>(member == nullptr ? one : one.at(member)));
        return found;
    }
    // Delays of a bundle with this trace id.
    void add_delays(const std::string& digest, std::uint32_t count) {
        BundleRow row;
        row.digest = digest;
        row.received_realtime_ns = monday_ns;
        ASSERT_TRUE(store_->inventory().add(row, {"parse", digest, monday_ns}).ok());
        std::vector<BundleDelay> delays(count);
        for (std::uint32_t i = 0; i < count; ++i) {
            delays[i].number = i + 1;
            delays[i].event = "checkout";
            delays[i].begin_realtime_ns = monday_ns + i;
            delays[i].duration_ns = 70 * ms + i;
            delays[i].trace_id = trace_id;
        }
        BundleFacts facts;
        facts.host = "web-1";
        ASSERT_TRUE(store_->inventory().set_contents(digest, facts, {}, delays).value());
    }
    std::uint64_t add_cause(const std::string& signature, const std::string& title,
                            const std::string& frames, const std::string& reason = "disk") {
        const auto noted = store_->found_causes().note_causes(
            "checkout",
            {{signature,
              title,
              "blocked",
              reason,
              frames,
              {{std::string(64, 'a'), 1, "web-1", "v1", monday_ns, 5, {}}},
              {}}},
            monday_ns);
        EXPECT_TRUE(noted.ok() && noted->size() == 1);
        return noted.ok() && !noted->empty() ? noted->front().id : 0;
    }
    // A frame of a call stack.
    static std::string frame(const std::string& function, const std::string& library) {
        return json::serialize(
            json::array{json::object{{"function", function}, {"module", library}}});
    }
};

TEST_F(SearchRoutes, ATraceIdFindsItsDelays) {
    add_delays(std::string(64, 'a'), 1);
    const json::object found = find(trace_id);
    EXPECT_EQ(json::serialize(found.at("delays")),
              R"([{"bundle":")" + std::string(64, 'a') +
                  R"(","number":1,"event":"checkout","host":"web-1","begin_ns":")" +
                  std::to_string(monday_ns) + R"(","duration_ns":70000000}])");
    EXPECT_THAT(find("checkout").at("delays").as_array(), IsEmpty());
    add_delays(std::string(64, 'b'), 30);
    EXPECT_THAT(find(trace_id).at("delays").as_array(), SizeIs(20));
    EXPECT_THAT(find("00-" + trace_id + "-00f067aa0ba902b7-01").at("delays").as_array(), SizeIs(20))
        << "as programs pass it on";
}

TEST_F(SearchRoutes, CausesAreFoundByTheirOwnWords) {
    add_delays(std::string(64, 'a'), 1);
    const std::uint64_t disk = add_cause("s1", "Waits in save", frame("f", "m"), "network (tcp)");
    const std::uint64_t part = add_cause("s2", "Waits in flush", frame("f", "m"));
    const auto change = [&](std::uint64_t id, const CauseChange& decided) {
        ASSERT_TRUE(store_->everything().causes().change_cause(id, decided).value());
    };
    CauseChange owned;
    owned.owner = "Team Storage";
    change(disk, owned);
    const std::string id = std::to_string(disk);
    for (const char* words : {"SAVE", "save waits", "checkout save", "tcp", "storage", "team save"})
        EXPECT_THAT(texts(find(words).at("causes"), "id"), ElementsAre(id)) << words;
    EXPECT_EQ(json::serialize(find("save").at("causes")),
              "[{\"id\":\"" + id + "\",\"title\":\"Waits in save\",\"event\":\"checkout\"}]");
    EXPECT_THAT(find("save flush").at("causes").as_array(), IsEmpty()) << "of two causes";
    EXPECT_THAT(texts(find("flush").at("causes"), "id"), ElementsAre(std::to_string(part)));
    CauseChange merged;
    merged.root = disk;
    change(part, merged);
    EXPECT_THAT(find("flush").at("causes").as_array(), IsEmpty()) << "it is no cause of its own";
    EXPECT_THAT(find("flush").at("functions").as_array(), IsEmpty());
}

TEST_F(SearchRoutes, FunctionsInCallStacksNameTheirCause) {
    add_delays(std::string(64, 'a'), 1);
    const std::uint64_t root = add_cause("s1", "Waits in save", frame("deflate", "libz.so"));
    EXPECT_EQ(json::serialize(find("deflate").at("functions")),
              "[{\"id\":\"" + std::to_string(root) +
                  "\",\"title\":\"Waits in save\",\"event\":\"checkout\",\"function\":\"deflate\","
                  "\"library\":\"libz.so\",\"by_library\":false}]");
    EXPECT_EQ(find("libz").at("functions").at(0).at("by_library"), json::value(true));
    EXPECT_THAT(find("save").at("functions").as_array(), IsEmpty()) << "it is a cause already";
    EXPECT_THAT(find("deflate").at("causes").as_array(), IsEmpty());
}

TEST_F(SearchRoutes, OfEachKindSixAreShown) {
    add_delays(std::string(64, 'a'), 1);
    trace::RunBatch batch;
    batch.host = "price-host";
    for (int i = 0; i < 9; ++i) {
        const std::string number = std::to_string(i);
        trace::RecordedRun& run = batch.runs.emplace_back();
        run.event = "price-" + number;
        run.begin_realtime_ns = monday_ns;
        run.user = "price-user-" + number;
        run.build_id = "price-build-" + number;
        run.process = "price-process-" + number;
        run.unit = "price-unit-" + number;
        add_cause("own" + number, "Waits in price_" + number, frame("f" + number, "m"));
        add_cause("of" + number, "Waits", frame("price_" + number, "m"));
    }
    ASSERT_TRUE(store_->batches().add_batch({std::string(64, 'c'), 1, monday_ns, ""}, batch).ok());
    const json::object found = find("price");
    for (const char* kind :
         {"events", "causes", "functions", "builds", "units", "processes", "users"})
        EXPECT_THAT(found.at(kind).as_array(), SizeIs(6)) << kind;
    EXPECT_THAT(texts(found.at("hosts")), ElementsAre("price-host"));
    EXPECT_THAT(texts(found.at("events")),
                ElementsAre("price-0", "price-1", "price-2", "price-3", "price-4", "price-5"));
    EXPECT_THAT(texts(found.at("builds"), "build").front(), "price-build-0");
}

}  // namespace
}  // namespace lagtrap::server::search_routes_test
