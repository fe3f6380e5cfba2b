#include "server/ingest/stack_table.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::stack_table_test {
namespace {

namespace json = boost::json;

// Frames 0 to 3, the last without a name, and the stacks 0-1-2, 0-1 and 3, outermost first.
struct Stacks {
    Stacks() {
        recording.names = {"", "main", "load", "read", "/usr/bin/app", "ab12", "app.c"};
        for (std::uint32_t i = 0; i < 4; ++i) {
            analysis::Frame& frame = recording.frames.emplace_back();
            frame.label = i + 1;
            frame.module = 4;
            frame.build_id = 5;
            frame.source = i == 2 ? 6 : 0;
            frame.line = i == 2 ? 17 : 0;
            frame.offset = 0x1000 + i;
            frame.load_bias = 0x400;
            frame.named = i < 3;
        }
        recording.stack_frames = {0, 1, 2, 0, 1, 3};
        const std::uint32_t* all = recording.stack_frames.data();
        recording.stacks = {{}, {all, 3}, {all + 3, 2}, {all + 5, 1}};
    }
    analysis::Recording recording;
};

TEST(StackTable, EachStackFrameAndNameIsSentOnce) {
    const Stacks stacks;
    StackTable table(stacks.recording);
    EXPECT_EQ(table.index_of(2), 0U);
    EXPECT_EQ(table.index_of(1), 1U);
    EXPECT_EQ(table.index_of(2), 0U);
    EXPECT_EQ(table.index_of(3), 2U);
    EXPECT_EQ(table.index_of(0), 3U);
    EXPECT_EQ(table.index_of_name("main"), table.index_of_name("main"));
    json::object answer;
    table.put_into(answer);
    // Innermost first.
    EXPECT_EQ(json::serialize(answer.at("stacks")), "[[0,1],[2,0,1],[3],[]]");
    EXPECT_EQ(json::serialize(answer.at("names")),
              R"(["load","/usr/bin/app","ab12","","main","read","app.c"])");
    EXPECT_EQ(json::serialize(answer.at("frames")),
              R"([{"function":0,"module":1,"build_id":2,"offset":"3073","file":3,"line":0},)"
              R"({"function":4,"module":1,"build_id":2,"offset":"3072","file":3,"line":0},)"
              R"({"function":5,"module":1,"build_id":2,"offset":"3074","file":6,"line":17},)"
              R"({"function":3,"module":1,"build_id":2,"offset":"3075","file":3,"line":0}])");
}

TEST(StackTable, DeepStacksKeepTheirInnermostFrames) {
    const Stacks stacks;
    StackTable table(stacks.recording, {.frames = 2});
    EXPECT_EQ(table.index_of(1), 0U);
    json::object answer;
    table.put_into(answer);
    EXPECT_EQ(answer.at("stacks").as_array().at(0).as_array().size(), 2U);
    const auto& frames = answer.at("frames").as_array();
    EXPECT_EQ(frames.at(0).at("offset"), "3074");
    EXPECT_EQ(frames.at(1).at("offset"), "3073");
}

TEST(StackTable, StacksBeyondAllFramesAreLeftOut) {
    const Stacks stacks;
    StackTable table(stacks.recording, {.all_frames = 5});
    EXPECT_EQ(table.index_of(1), 0U);
    EXPECT_EQ(table.index_of(2), 1U);
    EXPECT_FALSE(table.index_of(3));
    EXPECT_EQ(table.index_of(1), 0U);
    EXPECT_EQ(table.index_of(0), 2U);
}

TEST(StackTable, NamesBeyondTheirBytesAreEmpty) {
    const Stacks stacks;
    StackTable table(stacks.recording, {.names_bytes = 8});
    const std::size_t first = table.index_of_name("main");
    const std::size_t second = table.index_of_name("load");
    const std::size_t beyond = table.index_of_name("x");
    EXPECT_EQ(table.index_of_name(""), beyond);
    EXPECT_EQ(table.index_of_name("y"), beyond);
    EXPECT_NE(first, second);
    json::object answer;
    table.put_into(answer);
    EXPECT_EQ(json::serialize(answer.at("names")), R"(["main","load",""])");
    StackTable shorter(stacks.recording, {.name_bytes = 20});
    (void)shorter.index_of_name(std::string(20, 'a'));
    (void)shorter.index_of_name(std::string(21, 'b'));
    json::object short_answer;
    shorter.put_into(short_answer);
    EXPECT_EQ(short_answer.at("names").as_array().at(0).as_string(), std::string(20, 'a'));
    EXPECT_EQ(short_answer.at("names").as_array().at(1).as_string(), std::string(17, 'b') + "…");
}

TEST(StackTable, LongFunctionNamesLoseTheirTemplateArguments) {
    Stacks stacks;
    stacks.recording.names[1] = "Queue<int>::push";
    stacks.recording.names[2] = "Queue<std::map<int, std::string> >::push";
    stacks.recording.names[3] = "Queue<int>::" + std::string(40, 'p');
    StackTable table(stacks.recording, {.name_bytes = 20});
    EXPECT_TRUE(table.index_of(1));
    json::object answer;
    table.put_into(answer);
    const auto& names = answer.at("names").as_array();
    const auto function = [&](std::size_t frame) {
        return names.at(answer.at("frames").at(frame).at("function").to_number<std::size_t>())
            .as_string();
    };
    EXPECT_EQ(function(2), "Queue<int>::push");
    EXPECT_EQ(function(1), "Queue::push");
    EXPECT_EQ(function(0), "Queue::pppppppppp…");
}

}  // namespace
}  // namespace lagtrap::server::stack_table_test
