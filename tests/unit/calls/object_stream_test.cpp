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
}

TEST(ObjectStreamTest, ARefusalIsItsError) {
    const auto refused = parse_objects_reply(R"({"ok":false,"error":"there is no process 1"})");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "there is no process 1");
}

}  // namespace
}  // namespace lagtrap::calls::object_stream_test
