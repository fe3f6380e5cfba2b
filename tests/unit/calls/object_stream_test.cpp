#include "calls/object_stream.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::object_stream_test {
namespace {

ObjectsReply reply_of(const boost::json::object& line) {
    auto reply = parse_objects_reply(boost::json::serialize(line));
    EXPECT_TRUE(reply.ok());
    return reply.ok() ? std::move(*reply) : ObjectsReply{};
}

TEST(ObjectStreamTest, WhatIsToldIsRead) {
    ObjectsStarted started;
    started.pid = 12;
    started.process = "shop";
    started.classes = {"Item"};
    ObjectFunction function;
    function.function.name = "Item::Item";
    function.role = ObjectRole::Create;
    started.functions = {function};
    started.notes = {"a note"};
    started.refused = {{"a reason", 2}};
    const auto read = reply_of(to_json(started)).started;
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->functions.at(0).role, ObjectRole::Create);
    EXPECT_EQ(read->refused.at(0).count, 2U);

    ObjectCall call;
    call.begin_ns = 5;
    call.end_ns = 9;
    call.resident_bytes = -4096;
    call.error_number = 2;
    call.state = ObjectState::After;
    call.failed = true;
    call.title = "a file";
    const auto calls = reply_of(to_json(std::vector<ObjectCall>{call})).calls;
    ASSERT_TRUE(calls.has_value());
    EXPECT_EQ(calls->at(0).resident_bytes, -4096);
    EXPECT_EQ(calls->at(0).state, ObjectState::After);
    EXPECT_TRUE(calls->at(0).failed);
    EXPECT_EQ(calls->at(0).title, "a file");

    ObjectsEnded ended;
    ended.reason = "over";
    ended.classes = {{1, 2, 3, 4, 5, 6, 7, 8, 9}};
    ended.totals = {{0, 10, 1, 100}};
    ended.oldest = {{0, 0, 7, 0x1000, 5, 6, -7, "title", "caller", 1, true}};
    ended.stacks = {{12, true, {"caller (shop)", ""}}};
    ended.stacks_lost = 3;
    const auto over = reply_of(to_json(ended)).ended;
    ASSERT_TRUE(over.has_value());
    EXPECT_EQ(over->classes.at(0).not_followed, 9U);
    EXPECT_EQ(over->totals.at(0).elapsed_ns, 100U);
    EXPECT_EQ(over->oldest.at(0).bytes, -7);
    EXPECT_EQ(over->oldest.at(0).caller, "caller");
    EXPECT_EQ(over->oldest.at(0).stack, 1U);
    EXPECT_TRUE(over->oldest.at(0).shares_stack);
    EXPECT_EQ(over->stacks.at(0).alive, 12U);
    EXPECT_TRUE(over->stacks.at(0).cut);
    EXPECT_EQ(over->stacks.at(0).frames, (std::vector<std::string>{"caller (shop)", ""}));
    EXPECT_EQ(over->stacks_lost, 3U);

    ended.stacks.at(0).frames.resize(CreationStack::frames_limit + 1);
    EXPECT_FALSE(parse_objects_reply(boost::json::serialize(to_json(ended))).ok());
}

std::string again(const std::string& line) {
    const auto reply = parse_objects_reply(line);
    if (!reply.ok()) return reply.error().message;
    if (reply->started) return boost::json::serialize(to_json(*reply->started));
    if (reply->calls) return boost::json::serialize(to_json(*reply->calls));
    if (reply->messages) return boost::json::serialize(to_json(*reply->messages));
    if (reply->counts) return boost::json::serialize(to_json(*reply->counts));
    if (reply->failures) return boost::json::serialize(to_json(*reply->failures));
    if (reply->detached) return boost::json::serialize(to_json(*reply->detached));
    return reply->ended ? boost::json::serialize(to_json(*reply->ended)) : "nothing";
}

TEST(ObjectStreamTest, EachNumberHasItsPlace) {
    const ObjectCall call{1,    2,     3,  4,   5,   6,  7,
                          8,    9,     10, 11,  12,  13, ObjectState::After,
                          true, false, 14, "t", "u", "v"};
    const std::string calls = boost::json::serialize(to_json(std::vector{call}));
    EXPECT_EQ(calls, R"({"object_calls":[[1,2,3,4,5,6,7,8,9,10,11,12,13,4,1,0,14,"t","u","v"]]})");
    EXPECT_EQ(again(calls), calls);
    const ObjectMessage message{1, 2, 3, "t"};
    const std::string messages = boost::json::serialize(to_json(std::vector{message}));
    EXPECT_EQ(messages, R"({"messages":[[1,2,3,"t"]]})");
    EXPECT_EQ(again(messages), messages);
    const ObjectCounts seen{10, {{1, 2, 3, 4, 5, 6, 7, 8, 9}}};
    const std::string counts = boost::json::serialize(to_json(seen));
    EXPECT_EQ(counts, R"({"counts":{"at_ns":10,"classes":[[1,2,3,4,5,6,7,8,9]]}})");
    EXPECT_EQ(again(counts), counts);
    const ObjectFailure failure{1, 2, "e", "t", 3, 4};
    const std::string failures = boost::json::serialize(to_json(std::vector{failure}));
    EXPECT_EQ(failures, R"({"failures":[[1,2,"e","t",3,4]]})");
    EXPECT_EQ(again(failures), failures);
    const ObjectsEnded over{"r",
                            1,
                            2,
                            3,
                            4,
                            5,
                            {},
                            {{1, 2, 3, 4}},
                            {{1, 2, 3, 4, 5, 6, 7, "t", "c", 8, true}},
                            {{9, false, {"f"}}},
                            6};
    const std::string ended = boost::json::serialize(to_json(over));
    EXPECT_EQ(ended, R"({"ended_objects":{"reason":"r","length_ns":1,"sent":2,"not_sent":3,)"
                     R"("too_deep":4,"detach_ns":5,"classes":[],"totals":[[1,2,3,4]],)"
                     R"("oldest":[[1,2,3,4,5,6,7,"t","c",8,1]],"stacks":[[9,0,["f"]]],)"
                     R"("stacks_lost":6}})");
    EXPECT_EQ(again(ended), ended);
    ObjectsStarted begun;
    begun.pid = 1;
    begun.process = "p";
    begun.began_realtime_ns = 2;
    begun.began_monotonic_ns = 3;
    begun.classes = {"c"};
    begun.memory = "m";
    begun.notes = {"n"};
    begun.refused = {{"r", 4}};
    begun.beyond_limit = 5;
    begun.attached_by = "a";
    begun.plan_ns = 6;
    begun.attach_ns = 7;
    const std::string started = boost::json::serialize(to_json(begun));
    EXPECT_EQ(started, R"({"ok":true,"started_objects":{"pid":1,"process":"p",)"
                       R"("began_realtime_ns":2,"began_monotonic_ns":3,"classes":["c"],)"
                       R"("functions":[],"roles":[],"memory":"m","notes":["n"],)"
                       R"("refused":[["r",4]],"beyond_limit":5,"attached_by":"a","plan_ns":6,)"
                       R"("attach_ns":7}})");
    EXPECT_EQ(again(started), started);
}

TEST(ObjectStreamTest, FunctionsAndTheirRolesHaveTheirPlaces) {
    ObjectsStarted begun;
    begun.classes = {"c"};
    begun.functions.resize(2);
    begun.functions[0].function.name = "make";
    begun.functions[0].function.module = "m";
    begun.functions[0].role = ObjectRole::Create;
    begun.functions[1].function.name = "malloc";
    begun.functions[1].role = ObjectRole::Release;
    begun.functions[1].class_number = 1;
    const std::string started = boost::json::serialize(to_json(begun));
    EXPECT_NE(started.find(R"("functions":[["make","m",0,0,0,0,0],["malloc","",0,0,0,0,0]],)"
                           R"("roles":[[1,0],[3,1]])"),
              std::string::npos)
        << started;
    EXPECT_EQ(again(started), started);
    auto without = to_json(begun);
    without.at("started_objects").at("roles").as_array().pop_back();
    EXPECT_EQ(again(boost::json::serialize(without)),
              "the object trace has a line that cannot be read");
}

TEST(ObjectStreamTest, EachKindOfLineIsKnown) {
    for (const std::string line : {R"({"detached":[[1,2]]})", R"({"messages":[]})",
                                   R"({"failures":[]})", R"({"counts":{"at_ns":1,"classes":[]}})"})
        EXPECT_EQ(again(line), line);
    EXPECT_EQ(again(R"({"ok":true})"), "the object trace has a line of unknown kind");
    EXPECT_EQ(again("{"), "the object trace has a line that cannot be read");
    ObjectCall moment;
    moment.begin_ns = moment.end_ns = 5;
    moment.state = ObjectState::Within;
    EXPECT_TRUE(reply_of(to_json(std::vector{moment})).calls) << "the shortest call";
    ObjectsEnded ended;
    ended.stacks = {{1, false, std::vector<std::string>(CreationStack::frames_limit, "f")}};
    EXPECT_TRUE(reply_of(to_json(ended)).ended) << "the deepest stack";
}

TEST(ObjectStreamTest, WhatMakesNoSenseIsRefused) {
    for (const char* line :
         {"", "{", "[]", "{}", R"({"object_calls":[[1]]})", R"({"object_calls":5})",
          R"({"counts":{}})", R"({"ok":false})", R"({"messages":[[0,0,-1,""]]})"})
        EXPECT_FALSE(parse_objects_reply(line).ok()) << line;
    ObjectCall backwards;
    backwards.begin_ns = 9;
    backwards.end_ns = 5;
    EXPECT_FALSE(
        parse_objects_reply(boost::json::serialize(to_json(std::vector<ObjectCall>{backwards})))
            .ok());
    ObjectsStarted started;
    started.functions.resize(1);
    started.functions[0].class_number = 3;
    EXPECT_FALSE(parse_objects_reply(boost::json::serialize(to_json(started))).ok());
    // One class more than there are: the functions of allocators.
    started.functions[0].class_number = 0;
    EXPECT_TRUE(parse_objects_reply(boost::json::serialize(to_json(started))).ok());
    for (const int role : {0, 5}) {
        started.functions[0].role = static_cast<ObjectRole>(role);
        EXPECT_FALSE(parse_objects_reply(boost::json::serialize(to_json(started))).ok()) << role;
    }
    ObjectCall odd;
    odd.state = static_cast<ObjectState>(7);
    EXPECT_FALSE(
        parse_objects_reply(boost::json::serialize(to_json(std::vector<ObjectCall>{odd}))).ok());
}

TEST(ObjectStreamTest, RolesAndStatesHaveNames) {
    using enum ObjectState;
    EXPECT_EQ(name_of(ObjectRole::Create), "create");
    EXPECT_EQ(name_of(ObjectRole::Use), "use");
    EXPECT_EQ(name_of(ObjectRole::Release), "release");
    EXPECT_EQ(name_of(ObjectRole::Message), "message");
    EXPECT_EQ(name_of(Unknown), "not seen created");
    EXPECT_EQ(name_of(Alive), "alive");
    EXPECT_EQ(name_of(Created), "created");
    EXPECT_EQ(name_of(Released), "released");
    EXPECT_EQ(name_of(After), "used after release");
    EXPECT_EQ(name_of(Twice), "released twice");
    EXPECT_EQ(name_of(Within), "being created or released");
}

// They come from the program that is watched, and end on a terminal.
TEST(ObjectStreamTest, TextsArePrintable) {
    const std::string wild = "a\x1b[2J", tame = "a\\x1b[2J";
    ObjectsStarted started;
    started.process = started.memory = started.attached_by = wild;
    started.classes = started.notes = {wild};
    started.refused = {{wild, 1}};
    const auto begun = reply_of(to_json(started)).started;
    ASSERT_TRUE(begun.has_value());
    EXPECT_EQ(begun->process, tame);
    EXPECT_EQ(begun->memory, tame);
    EXPECT_EQ(begun->attached_by, tame);
    EXPECT_EQ(begun->classes, std::vector{tame});
    EXPECT_EQ(begun->notes, std::vector{tame});
    EXPECT_EQ(begun->refused.at(0).reason, tame);

    ObjectCall call;
    call.thread = call.title = call.error = wild;
    const auto calls = reply_of(to_json(std::vector{call})).calls;
    ASSERT_TRUE(calls.has_value());
    EXPECT_EQ(calls->at(0).thread, tame);
    EXPECT_EQ(calls->at(0).title, tame);
    EXPECT_EQ(calls->at(0).error, tame);

    ObjectMessage message;
    message.text = wild;
    EXPECT_EQ(reply_of(to_json(std::vector{message})).messages.value().at(0).text, tame);

    ObjectFailure failure;
    failure.error = failure.title = wild;
    const auto failures = reply_of(to_json(std::vector{failure})).failures;
    ASSERT_TRUE(failures.has_value());
    EXPECT_EQ(failures->at(0).error, tame);
    EXPECT_EQ(failures->at(0).title, tame);

    ObjectsEnded ended;
    ended.reason = wild;
    ended.oldest.resize(1);
    ended.oldest[0].title = ended.oldest[0].caller = wild;
    ended.stacks.resize(1);
    ended.stacks[0].frames = {wild};
    const auto over = reply_of(to_json(ended)).ended;
    ASSERT_TRUE(over.has_value());
    EXPECT_EQ(over->reason, tame);
    EXPECT_EQ(over->oldest.at(0).title, tame);
    EXPECT_EQ(over->oldest.at(0).caller, tame);
    EXPECT_EQ(over->stacks.at(0).frames, std::vector{tame});

    const auto refused = parse_objects_reply(R"({"ok":false,"error":"a\u001b[2J"})");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, tame);
}

TEST(ObjectStreamTest, ARefusalIsItsError) {
    const auto refused = parse_objects_reply(R"({"ok":false,"error":"there is no process 1"})");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "there is no process 1");
}

}  // namespace
}  // namespace lagtrap::calls::object_stream_test
