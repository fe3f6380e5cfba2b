#include "calls/call_stream.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::call_stream_test {
namespace {

Tree a_tree() {
    Tree tree;
    tree.tid = 7;
    tree.thread = "worker";
    tree.calls = {{.function = 0, .end_ns = 100, .on_cpu_ns = 90}};
    return tree;
}

TEST(CallStreamTest, ATreeThatIsToldIsRead) {
    Tree tree = a_tree();
    tree.probe_scale = 1.25;
    const auto read = parse_message(boost::json::serialize(to_json(tree)));
    ASSERT_TRUE(read.ok() && read->tree);
    EXPECT_EQ(read->tree->thread, "worker");
    EXPECT_EQ(read->tree->probe_scale, 1.25);
    EXPECT_EQ(read->tree->calls.at(0).on_cpu_ns, 90U);
}

TEST(CallStreamTest, ProbesTakeWhatWasToldWhereATreeSaysNothing) {
    const auto line = to_json(a_tree());
    EXPECT_FALSE(line.at("tree").as_object().contains("probe_scale"));
    const auto read = parse_message(boost::json::serialize(line));
    ASSERT_TRUE(read.ok() && read->tree);
    EXPECT_EQ(read->tree->probe_scale, 1);
}

TEST(CallStreamTest, ProbesThatTakeNoTimeAreRefused) {
    for (const double scale : {0.0, -1.0}) {
        auto line = to_json(a_tree());
        line.at("tree").as_object()["probe_scale"] = scale;
        EXPECT_FALSE(parse_message(boost::json::serialize(line)).ok()) << scale;
    }
}

// The line read and written again; the error if it cannot be read.
std::string again(const std::string& line) {
    const auto message = parse_message(line);
    if (!message.ok()) return message.error().message;
    if (message->started) return boost::json::serialize(to_json(*message->started));
    if (message->tree) return boost::json::serialize(to_json(*message->tree));
    if (message->detached) return boost::json::serialize(to_json(*message->detached));
    if (message->more) return boost::json::serialize(to_json(*message->more));
    return message->ended ? boost::json::serialize(to_json(*message->ended)) : "nothing";
}

Function function_of(const char* name, std::uint32_t line) {
    Function function;
    function.name = name;
    function.module = "/usr/bin/app";
    function.level = 1;
    function.seen = line != 0;
    function.cost = {2, 3};
    function.entry = 4;
    if (line != 0) function.source = "/src/app.cpp";
    function.line = line;
    return function;
}

TEST(CallStreamTest, EachFactHasItsPlace) {
    Started started;
    started.pid = 1;
    started.process = "app";
    started.functions = {function_of("work", 0), function_of("wait", 5)};
    started.refused = {{"tiny", "too short"}};
    started.refused_count = 6;
    started.beyond_limit = 7;
    started.indirect_calls = 8;
    started.plan_ns = 9;
    started.attach_ns = 10;
    const std::string begun = boost::json::serialize(to_json(started));
    EXPECT_EQ(begun, R"({"ok":true,"started":{"pid":1,"process":"app",)"
                     R"("functions":[["work","/usr/bin/app",1,0,2,3,4],)"
                     R"(["wait","/usr/bin/app",1,1,2,3,4,"/src/app.cpp",5]],)"
                     R"("refused":[["tiny","too short"]],"refused_count":6,"beyond_limit":7,)"
                     R"("indirect_calls":8,"plan_ns":9,"attach_ns":10}})");
    EXPECT_EQ(again(begun), begun);

    Tree tree;
    tree.tid = 1;
    tree.thread = "worker";
    tree.goroutine = 2;
    tree.began_realtime_ns = 3;
    tree.began_monotonic_ns = 4;
    tree.probe_scale = 1.5;
    Call outer, inner;
    outer.end_ns = 50;
    inner.function = 1;
    inner.parent = 0;
    inner.begin_ns = 10;
    inner.end_ns = 40;
    inner.on_cpu_ns = 11;
    inner.runnable_ns = 12;
    inner.left_out = 13;
    inner.left_out_cost_ns = 14;
    inner.end = CallEnd::ThreadEnd;
    tree.calls = {outer, inner};
    const std::string told = boost::json::serialize(to_json(tree));
    EXPECT_EQ(told, R"({"tree":{"tid":1,"thread":"worker","began_ns":3,"began_monotonic_ns":4,)"
                    R"("calls":[[0,-1,0,50,0,0,0,0,0],[1,0,10,40,11,12,13,14,3]],"goroutine":2,)"
                    R"("probe_scale":1.5E0}})");
    EXPECT_EQ(again(told), told);
    EXPECT_FALSE(to_json(a_tree()).at("tree").as_object().contains("goroutine"));

    for (const std::string line :
         {R"({"detached":[[1,2],[3,4]]})", R"({"more":[["wait","/usr/bin/app",1,1,2,3,4,"a",5]]})",
          R"({"ended":{"reason":"over","calls":1,"short_calls":2,"not_kept":3,"not_sent":4,)"
          R"("detach_ns":5}})"})
        EXPECT_EQ(again(line), line);
}

TEST(CallStreamTest, ABadLineSaysWhatIsWrong) {
    EXPECT_EQ(again(R"({"ok":false,"error":"no such process"})"), "no such process");
    const std::string version = "; do lagtrap and lagtrapd have the same version?";
    const std::string malformed = "lagtrapd's answer is malformed" + version;
    const std::string unknown = "lagtrapd's answer has a line of unknown kind" + version;
    EXPECT_EQ(again(""), malformed);
    EXPECT_EQ(again("[]"), malformed);
    EXPECT_EQ(again(R"({"started":{}})"), malformed);
    EXPECT_EQ(again(R"({"ended":5})"), malformed);
    EXPECT_EQ(again(R"({"ok":true})"), unknown);
    EXPECT_EQ(again("{}"), unknown);
    EXPECT_EQ(again(R"({"detached":[],"more":[],"other":1})"),
              "lagtrapd's answer has more than one message in a line");
    auto tree = to_json(a_tree());
    tree.at("tree").at("calls").at(0).at(8) = 4;
    EXPECT_EQ(again(boost::json::serialize(tree)), malformed) << "an unknown end";
    tree = to_json(a_tree());
    for (const double scale : {0.0, -1.0}) {
        tree.at("tree").as_object()["probe_scale"] = scale;
        EXPECT_EQ(again(boost::json::serialize(tree)), malformed) << "probes that take no time";
    }
}

// They come from the program that is watched, and end on a terminal.
TEST(CallStreamTest, TextsArePrintable) {
    const std::string wild = "a\x1b[2J", tame = "a\\x1b[2J";
    Started started;
    started.process = wild;
    started.functions.resize(1);
    started.functions[0].name = started.functions[0].module = started.functions[0].source = wild;
    started.functions[0].line = 1;
    started.refused = {{wild, wild}};
    const auto begun = parse_message(boost::json::serialize(to_json(started)));
    ASSERT_TRUE(begun.ok() && begun->started);
    EXPECT_EQ(begun->started->process, tame);
    EXPECT_EQ(begun->started->functions.at(0).name, tame);
    EXPECT_EQ(begun->started->functions.at(0).module, tame);
    EXPECT_EQ(begun->started->functions.at(0).source, tame);
    EXPECT_EQ(begun->started->refused.at(0).name, tame);
    EXPECT_EQ(begun->started->refused.at(0).reason, tame);
    Tree tree = a_tree();
    tree.thread = wild;
    const auto told = parse_message(boost::json::serialize(to_json(tree)));
    ASSERT_TRUE(told.ok() && told->tree);
    EXPECT_EQ(told->tree->thread, tame);
    Ended ended;
    ended.reason = wild;
    const auto over = parse_message(boost::json::serialize(to_json(ended)));
    ASSERT_TRUE(over.ok() && over->ended);
    EXPECT_EQ(over->ended->reason, tame);
    EXPECT_EQ(again(R"({"ok":false,"error":"a\u001b[2J"})"), tame);
}

}  // namespace
}  // namespace lagtrap::calls::call_stream_test
