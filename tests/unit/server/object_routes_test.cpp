#include "server/api/object_routes.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calls/object_stream.hpp"
#include "server/api/watch_summaries.hpp"
#include "tests/unit/server/store_fixture.hpp"

namespace lagtrap::server::object_routes_test {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t begin_ns = 20'003ULL * 86'400'000'000'000;
const std::string watch = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
const std::string another = "1b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";

std::string line_of(const json::object& object) { return json::serialize(object) + "\n"; }

calls::ObjectsStarted started_watch() {
    calls::ObjectsStarted started;
    started.pid = 7;
    started.process = "shop";
    started.began_realtime_ns = begin_ns - 5;
    started.classes = {"Cart", "Page"};
    started.functions.resize(1);
    started.functions[0].function.name = "Cart::Cart";
    return started;
}

std::string calls_line(std::size_t count) {
    std::vector<calls::ObjectCall> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i].end_ns = made[i].begin_ns + 10;
    return line_of(calls::to_json(made));
}

class ObjectRoutes : public StoreFixture {
  protected:
    void add(const std::string& id, std::uint32_t number, const std::string& lines,
             std::uint64_t lost_lines = 0, bool last = false) {
        trace::RunBatch batch;
        batch.host = "web1";
        trace::ObjectsPart& part = batch.objects.emplace();
        part.watch_id = id;
        part.number = number;
        part.pid = 7;
        part.process = "shop";
        part.last = last;
        part.lost_lines = lost_lines;
        part.lines = lines;
        std::string digest = std::to_string(++batches_);
        digest.insert(0, 64 - digest.size(), '0');
        const auto added = store_->batches().add_batch(
            {digest, 10, begin_ns + static_cast<std::uint64_t>(batches_), "web"}, batch);
        ASSERT_TRUE(added.ok()) << added.error().message;
    }
    static Route route_of(const std::string& id, const std::optional<std::string>& after = {}) {
        Route route;
        route.arguments = {id};
        if (after) route.query = {{"after", *after}};
        return route;
    }
    json::value listed() {
        return json::parse(list_object_watches(store_->objects(), {}).body).at("watches");
    }
    Reply parts(const std::string& id, const std::optional<std::string>& after = {}) {
        return get_object_parts(store_->objects(), route_of(id, after));
    }
    std::vector<int> numbers(const std::optional<std::string>& after = {}) {
        const Reply reply = parts(watch, after);
        EXPECT_EQ(reply.status, 200U) << reply.body;
        std::vector<int> found;
        const json::value answer = json::parse(reply.body);
        for (const json::value& part : answer.at("parts").as_array())
            found.push_back(part.at("number").to_number<int>());
        return found;
    }
    Reply summary(const std::string& id) {
        return get_object_watch(store_->objects(), summaries_, route_of(id));
    }
    json::value summary() {
        const Reply reply = summary(watch);
        EXPECT_EQ(reply.status, 200U) << reply.body;
        return json::parse(reply.body);
    }

    WatchSummaries summaries_;
    int batches_ = 0;
};

TEST_F(ObjectRoutes, WatchesAreListedWithTheirFigures) {
    EXPECT_THAT(listed().as_array(), IsEmpty());
    add(watch, 1, line_of(calls::to_json(started_watch())) + calls_line(3), 2);
    calls::ObjectCounts counts;
    counts.classes.resize(2);
    counts.classes[0].failures = 4;
    add(watch, 4, calls_line(1) + line_of(calls::to_json(counts)), 5);
    EXPECT_EQ(listed().at(0),
              json::parse(R"({"watch":")" + watch +
                          R"(","host":"web1","process":"shop","pid":7,"began_ns":")" +
                          std::to_string(begin_ns - 5) + R"(","first_ns":")" +
                          std::to_string(begin_ns + 1) + R"(","last_ns":")" +
                          std::to_string(begin_ns + 2) +
                          R"(","parts":4,"ended":false,"classes":["Cart","Page"],"class_count":2,)"
                          R"("calls":4,"failures":4,"not_reported":0,"lost_lines":7,)"
                          R"("missing_parts":2})"));
    add(another, 3, "{}\n", 0, true);
    const json::value both = listed();
    ASSERT_EQ(both.as_array().size(), 2U);
    const json::value& newest = both.at(0);
    EXPECT_EQ(newest.at("watch"), json::value(another));
    EXPECT_TRUE(newest.at("began_ns").is_null());
    EXPECT_EQ(newest.at("ended"), json::value(true));
    EXPECT_EQ(newest.at("missing_parts"), json::value(2));
    EXPECT_THAT(newest.at("classes").as_array(), IsEmpty());
}

TEST_F(ObjectRoutes, PartsFollowTheOneThatIsKnown) {
    for (const std::uint32_t number : {1U, 2U, 3U}) add(watch, number, "{}\n", number, number == 3);
    EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
    EXPECT_THAT(numbers("0"), ElementsAre(1, 2, 3));
    EXPECT_THAT(numbers("2"), ElementsAre(3));
    EXPECT_THAT(numbers("3"), IsEmpty());
    EXPECT_THAT(numbers("4294967295"), IsEmpty());
    EXPECT_EQ(parts(watch, "2").body,
              R"({"parts":[{"number":3,"lost_lines":3,"last":true,"lines":"{}\n"}]})"
              "\n");
    EXPECT_EQ(json::parse(parts(watch).body).at("parts").at(0).at("last"), json::value(false));
    for (const char* wrong : {"", "x", "-1", "4294967296", "1 "}) {
        const Reply refused = parts(watch, wrong);
        EXPECT_EQ(refused.status, 400U) << wrong;
        EXPECT_EQ(json::parse(refused.body).at("error").at("message"),
                  json::value("after: the number of a part is expected"));
    }
}

TEST_F(ObjectRoutes, AnAnswerHasFourMebibytesAndThePartBeyondThem) {
    const std::string large(1500 * 1024, ' ');
    for (const std::uint32_t number : {1U, 2U, 3U, 4U}) add(watch, number, large + "\n");
    EXPECT_THAT(numbers(), ElementsAre(1, 2, 3));
    EXPECT_THAT(numbers("3"), ElementsAre(4));
}

TEST_F(ObjectRoutes, UnknownWatchesAreNotThere) {
    add(watch, 1, "{}\n");
    for (const std::string& id : {another, std::string("x"), std::string()})
        for (const Reply& reply : {parts(id), summary(id)}) {
            EXPECT_EQ(reply.status, 404U) << id;
            EXPECT_EQ(reply.body, R"({"error":{"message":"there is no such watch of objects",)"
                                  R"("hint":"it may have been removed for its age"}})"
                                  "\n");
        }
}

TEST_F(ObjectRoutes, ASummaryIsOfAllPartsThatCame) {
    calls::ObjectsStarted started = started_watch();
    started.notes = {"no memory is counted"};
    started.refused = {{"inlined", 3}};
    started.beyond_limit = 12;
    add(watch, 1, line_of(calls::to_json(started)) + calls_line(2));
    json::value found = summary();
    EXPECT_EQ(found.at("watch").at("watch"), json::value(watch));
    EXPECT_EQ(found.at("reason"), json::value(""));
    EXPECT_EQ(found.at("dropped_parts"), json::value(0));
    EXPECT_EQ(found.at("unread_lines"), json::value(0));
    EXPECT_EQ(
        found.at("notes"),
        json::parse(R"(["no memory is counted","functions that cannot be watched, 3: inlined",)"
                    R"("functions beyond the limit, which are not watched: 12"])"));
    EXPECT_EQ(found.at("objects").at("reported"), json::value(2));
    EXPECT_EQ(found.at("latest").as_array().size(), 2U);
    calls::ObjectsEnded ended;
    ended.reason = "its time is over";
    ended.length_ns = 50;
    add(watch, 2, "no JSON\n" + line_of(calls::to_json(ended)), 0, true);
    found = summary();
    EXPECT_EQ(found.at("reason"), json::value("its time is over"));
    EXPECT_EQ(found.at("unread_lines"), json::value(1));
    EXPECT_EQ(found.at("watch").at("ended"), json::value(true));
}

TEST_F(ObjectRoutes, NotesAreFortyAtMost) {
    calls::ObjectsStarted started = started_watch();
    started.notes.assign(38, "note");
    started.refused = {{"a", 1}, {"b", 2}, {"c", 3}};
    add(watch, 1, line_of(calls::to_json(started)));
    const json::value notes = summary().at("notes");
    ASSERT_EQ(notes.as_array().size(), 40U);
    EXPECT_EQ(notes.at(39), json::value("functions that cannot be watched, 2: b"));
    started.notes.assign(50, "note");
    add(another, 1, line_of(calls::to_json(started)));
    EXPECT_EQ(json::parse(summary(another).body).at("notes").as_array().size(), 40U);
}

TEST_F(ObjectRoutes, WithoutTheFirstPartThereIsNoSummary) {
    add(watch, 2, calls_line(1));
    const json::value found = summary();
    EXPECT_TRUE(found.at("objects").is_null());
    EXPECT_THAT(found.at("notes").as_array(), IsEmpty());
    EXPECT_THAT(found.at("latest").as_array(), IsEmpty());
}

TEST_F(ObjectRoutes, PartsThatWereRemovedForTheirSizeAreCounted) {
    const std::string large(5 << 20, ' ');
    add(watch, 1, line_of(calls::to_json(started_watch())));
    for (std::uint32_t number = 2; number <= 6; ++number) add(watch, number, large + "\n");
    EXPECT_EQ(summary().at("dropped_parts"), json::value(2));
    EXPECT_EQ(listed().at(0).at("missing_parts"), json::value(0));
}

}  // namespace
}  // namespace lagtrap::server::object_routes_test
