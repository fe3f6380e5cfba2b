// Each message of a trace of functions, as lagtrapd writes and lagtrap reads it.
#include "calls/function_stream.hpp"

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace lagtrap::calls::function_stream_test {
namespace {

// The message read again, after checking that writing it again gives the same line.
template <typename Value, typename Member>
Value read_again(const Value& value, Member member) {
    const std::string line = boost::json::serialize(to_json(value));
    const auto message = parse_functions_message(line);
    EXPECT_TRUE(message) << message.error().message;
    if (!message || !((*message).*member)) return {};
    EXPECT_EQ(boost::json::serialize(to_json(*((*message).*member))), line);
    return *((*message).*member);
}

TEST(FunctionMessages, TheBeginKeepsEachFact) {
    FunctionsStarted started;
    started.pid = 1;
    started.process = "app";
    started.functions.resize(1);
    started.functions[0].name = "work";
    started.own_files = {"/usr/bin/app", "/usr/lib/libown.so"};
    started.system_files = {{"C library", 2}};
    started.system_functions = {{"operator", 3}};
    started.moved_in = 4;
    started.moved_out = 5;
    started.refused = {{"too short", 6}};
    started.beyond_limit = 7;
    started.hooks = {{"uprobe", "uretprobe", "in C", 8, 9}};
    started.attached_by = "uprobe_multi";
    started.plan_ns = 10;
    started.attach_ns = 11;
    started.window_ns = 12;
    started.from_ns = 13;
    const FunctionsStarted read = read_again(started, &FunctionsMessage::started);
    EXPECT_EQ(read.pid, 1U);
    EXPECT_EQ(read.process, "app");
    ASSERT_EQ(read.functions.size(), 1U);
    EXPECT_EQ(read.functions[0].name, "work");
    EXPECT_EQ(read.own_files, started.own_files);
    ASSERT_EQ(read.system_files.size(), 1U);
    EXPECT_EQ(read.system_files[0].reason, "C library");
    EXPECT_EQ(read.system_files[0].count, 2U);
    EXPECT_EQ(read.system_functions.at(0).count, 3U);
    EXPECT_EQ(read.moved_in, 4U);
    EXPECT_EQ(read.moved_out, 5U);
    EXPECT_EQ(read.refused.at(0).reason, "too short");
    EXPECT_EQ(read.beyond_limit, 7U);
    ASSERT_EQ(read.hooks.size(), 1U);
    EXPECT_EQ(read.hooks[0].entry, "uprobe");
    EXPECT_EQ(read.hooks[0].exit, "uretprobe");
    EXPECT_EQ(read.hooks[0].reason, "in C");
    EXPECT_EQ(read.hooks[0].functions, 8U);
    EXPECT_EQ(read.hooks[0].cost_ns, 9U);
    EXPECT_EQ(read.attached_by, "uprobe_multi");
    EXPECT_EQ(read.plan_ns, 10U);
    EXPECT_EQ(read.attach_ns, 11U);
    EXPECT_EQ(read.window_ns, 12U);
    EXPECT_EQ(read.from_ns, 13U);
}

TEST(FunctionMessages, CallsKeepEachFact) {
    const std::vector<TracedCall> calls{{1, 2, 3, 4, 5, 6, true, "worker"},
                                        {7, 8, 9, 9, 0, 0, false, ""}};
    const auto read = read_again(calls, &FunctionsMessage::calls);
    ASSERT_EQ(read.size(), 2U);
    EXPECT_EQ(read[0].function, 1U);
    EXPECT_EQ(read[0].tid, 2U);
    EXPECT_EQ(read[0].begin_ns, 3U);
    EXPECT_EQ(read[0].end_ns, 4U);
    EXPECT_EQ(read[0].probes_ns, 5U);
    EXPECT_EQ(read[0].off_cpu_ns, 6U);
    EXPECT_TRUE(read[0].left);
    EXPECT_EQ(read[0].thread, "worker");
    EXPECT_FALSE(read[1].left);
}

TEST(FunctionMessages, TheEndKeepsEachFact) {
    FunctionsEnded ended;
    ended.reason = "time limit reached";
    ended.length_ns = 1;
    ended.sent = 2;
    ended.not_sent = 3;
    ended.too_deep = 4;
    ended.bytes = 5;
    ended.min_ns = 6;
    ended.detach_ns = 7;
    ended.unnamed = 8;
    ended.totals = {{9, 10, 11, 12, 13, {14, 15}, 16}};
    const FunctionsEnded read = read_again(ended, &FunctionsMessage::ended);
    EXPECT_EQ(read.reason, "time limit reached");
    EXPECT_EQ(read.length_ns, 1U);
    EXPECT_EQ(read.sent, 2U);
    EXPECT_EQ(read.not_sent, 3U);
    EXPECT_EQ(read.too_deep, 4U);
    EXPECT_EQ(read.bytes, 5U);
    EXPECT_EQ(read.min_ns, 6U);
    EXPECT_EQ(read.detach_ns, 7U);
    EXPECT_EQ(read.unnamed, 8U);
    ASSERT_EQ(read.totals.size(), 1U);
    EXPECT_EQ(read.totals[0].function, 9U);
    EXPECT_EQ(read.totals[0].calls, 10U);
    EXPECT_EQ(read.totals[0].left, 11U);
    EXPECT_EQ(read.totals[0].own_ns, 12U);
    EXPECT_EQ(read.totals[0].longest_ns, 13U);
    EXPECT_EQ(read.totals[0].path, (std::vector<std::uint32_t>{14, 15}));
    EXPECT_EQ(read.totals[0].unbegun, 16U);
}

TEST(FunctionMessages, ErrorsAreThoseOfTheDaemonOrOfTheVersion) {
    const auto error_of = [](const std::string& line) {
        const auto message = parse_functions_message(line);
        EXPECT_FALSE(message) << line;
        if (message) return std::string();
        EXPECT_EQ(message.error().kind, ErrorKind::Invalid);
        return message.error().message;
    };
    const std::string version = "; do lagtrap and lagtrapd have the same version?";
    EXPECT_EQ(error_of(R"({"ok":false,"error":"no such process"})"), "no such process");
    EXPECT_EQ(error_of(R"({"ok":true})"), "lagtrapd's answer has a line of unknown kind" + version);
    EXPECT_EQ(error_of("{"), "lagtrapd's answer is malformed" + version);
    EXPECT_EQ(error_of(R"({"calls":[[1,2,9,8,0,0,0,"x"]]})"),
              "lagtrapd's answer is malformed" + version);
    EXPECT_TRUE(parse_functions_message(R"({"calls":[[1,2,9,9,0,0,0,"x"]]})"));
    EXPECT_TRUE(parse_functions_message(R"({"calls":[]})")->calls);
}

TEST(FunctionMessages, LinesHaveTheNamesThatOtherVersionsKnow) {
    FunctionsEnded ended;
    ended.reason = "r";
    ended.length_ns = 1;
    ended.sent = 2;
    ended.not_sent = 3;
    ended.too_deep = 4;
    ended.bytes = 5;
    ended.min_ns = 6;
    ended.detach_ns = 7;
    ended.unnamed = 8;
    ended.runtimes = {{"Ruby", 9, {{"in C", 10}}, 11, "a"}};
    ended.totals = {{12, 13, 14, 15, 16, {17}, 18}};
    EXPECT_EQ(boost::json::serialize(to_json(ended)),
              R"({"ended_functions":{"reason":"r","length_ns":1,"sent":2,"not_sent":3,)"
              R"("too_deep":4,"bytes":5,"least_ns":6,"detach_ns":7,"unnamed":8,)"
              R"("runtimes":[["Ruby",9,[["in C",10]],11,"a"]],)"
              R"("totals":[[12,13,14,15,16,[17],18]]}})");
    EXPECT_EQ(read_again(ended, &FunctionsMessage::ended).runtimes.at(0).left_out.at(0).reason,
              "in C");
    const auto out = parse_functions_message(R"({"detached":[[1,2]]})");
    ASSERT_TRUE(out && out->detached);
    EXPECT_EQ(out->detached->at(0).function, 1U);
    EXPECT_EQ(out->detached->at(0).calls_per_second, 2U);
}

TEST(FunctionMessages, ACallEndsNoEarlierThanItBegins) {
    const auto is_read = [](std::uint64_t begin_ns, std::uint64_t end_ns) {
        TracedCall call;
        call.begin_ns = begin_ns;
        call.end_ns = end_ns;
        return parse_functions_message(boost::json::serialize(to_json(std::vector{call}))).ok();
    };
    EXPECT_TRUE(is_read(5, 6));
    EXPECT_TRUE(is_read(5, 5));
    EXPECT_FALSE(is_read(5, 4));
}

TEST(FunctionMessages, ReasonsAreCounted) {
    std::vector<ReasonCount> counts;
    for (const char* reason : {"a", "b", "a"}) count_reason(counts, reason);
    ASSERT_EQ(counts.size(), 2U);
    EXPECT_EQ(counts[0].reason, "a");
    EXPECT_EQ(counts[0].count, 2U);
    EXPECT_EQ(counts[1].count, 1U);
}

// They come from the program that is watched, and end on a terminal.
TEST(FunctionMessages, TextsArePrintable) {
    const std::string wild = "a\x1b[2J", tame = "a\\x1b[2J";
    const auto read = [](const boost::json::object& line) {
        const auto message = parse_functions_message(boost::json::serialize(line));
        EXPECT_TRUE(message) << message.error().message;
        return message ? *message : FunctionsMessage{};
    };
    FunctionsStarted started;
    started.process = started.attached_by = wild;
    started.own_files = {wild};
    started.system_files = started.system_functions = started.refused = {{wild, 1}};
    started.hooks = {{wild, wild, wild, 1, 1}};
    const auto begun = read(to_json(started)).started.value();
    EXPECT_EQ(begun.process, tame);
    EXPECT_EQ(begun.attached_by, tame);
    EXPECT_EQ(begun.own_files, std::vector{tame});
    for (const auto* counts : {&begun.system_files, &begun.system_functions, &begun.refused})
        EXPECT_EQ(counts->at(0).reason, tame);
    EXPECT_EQ(begun.hooks.at(0).entry, tame);
    EXPECT_EQ(begun.hooks.at(0).exit, tame);
    EXPECT_EQ(begun.hooks.at(0).reason, tame);
    TracedCall call;
    call.thread = wild;
    EXPECT_EQ(read(to_json(std::vector{call})).calls.value().at(0).thread, tame);
    FunctionsEnded ended;
    ended.reason = wild;
    ended.runtimes = {{wild, 1, {{wild, 1}}, 1, wild}};
    const auto over = read(to_json(ended)).ended.value();
    EXPECT_EQ(over.reason, tame);
    EXPECT_EQ(over.runtimes.at(0).language, tame);
    EXPECT_EQ(over.runtimes.at(0).left_out.at(0).reason, tame);
    EXPECT_EQ(over.runtimes.at(0).advice, tame);
    const auto refused = parse_functions_message(R"({"ok":false,"error":"a\u001b[2J"})");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, tame);
}

}  // namespace
}  // namespace lagtrap::calls::function_stream_test
