// Everything that `lagtrap calls` prints, compared with tests/data/cli/calls_text.txt.
#include "cli/calls/calls_text.hpp"

#include <gtest/gtest.h>

#include "tests/unit/cli/cli_test.hpp"

namespace lagtrap::cli::calls_text_test {
namespace {

calls::Function function(const std::string& name, const std::string& module = "/bin/program") {
    calls::Function made;
    made.name = name;
    made.module = module;
    return made;
}

// It begins `begin_us` after the tree's begin; what is neither on a CPU nor waiting for one is
// blocked.
calls::Call call(std::uint32_t number, std::uint32_t parent, std::uint64_t begin_us,
                 std::uint64_t length_us, std::uint64_t on_cpu_us, std::uint64_t runnable_us) {
    calls::Call made;
    made.function = number;
    made.parent = parent;
    made.begin_ns = begin_us * 1000;
    made.end_ns = (begin_us + length_us) * 1000;
    made.on_cpu_ns = on_cpu_us * 1000;
    made.runnable_ns = runnable_us * 1000;
    return made;
}

class CallsText : public testing::Test {
  protected:
    CallsText() {
        functions_ = {function("serve"), function("parse"), function("read", "/lib/libother.so"),
                      function("tiny"),  function("leave"), function("die")};
        functions_[1].source = "/build/app/src/parse.cpp";
        functions_[1].line = 12;
        functions_[2].seen = true;
        functions_[3].cost = {1'000, 500};
        tree_.thread = "worker";
        tree_.tid = 42;
        tree_.began_realtime_ns = 1'700'000'000'000'000'000;
        tree_.calls = {call(0, calls::no_parent, 0, 100'000, 40'000, 20'000),
                       call(1, 0, 0, 60'000, 30'000, 20'000),
                       call(2, 1, 0, 40'000, 10'000, 8'000),
                       call(3, 1, 50'000, 500, 500, 0),
                       call(3, 1, 51'000, 200, 200, 0),
                       call(4, 0, 70'000, 100, 100, 0),
                       call(5, 0, 80'000, 20'000, 19'000, 500)};
        tree_.calls[1].left_out = 1;
        tree_.calls[5].end = calls::CallEnd::Left;
        tree_.calls[6].end = calls::CallEnd::ThreadEnd;
    }
    void add(const std::string& about, const std::string& text) {
        shown_ += "# " + about + "\n" + text;
    }
    calls::Tree tree_;
    std::vector<calls::Function> functions_;
    CallsLook look_{Paint(false), 80, false, false};
    std::string shown_;
};

TEST_F(CallsText, IsWholeInEveryCase) {
    CallsLook all = look_;
    all.all = true;
    calls::Started started;
    started.pid = 7;
    started.process = "shop";
    started.functions = functions_;
    started.plan_ns = 5'000'000;
    started.attach_ns = 60'000'000;
    add("started", started_text(started, "serve", look_));
    started.refused = {{"idle", "it never returns"}};
    started.refused_count = 1'234;
    started.beyond_limit = 5;
    started.functions = {functions_[3]};
    add("started with functions that are not probed", started_text(started, "serve", all));
    add("more", more_text({functions_[1], functions_[2]}, look_));
    std::vector<calls::Function> more;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        more.push_back(function(name));
        more.back().seen = true;
    }
    add("many more", more_text(more, look_));
    add("tree", tree_text(tree_, functions_, look_));
    add("whole tree", tree_text(tree_, functions_, all));
    CallsLook narrow = look_;
    narrow.columns = 60;
    narrow.cut = true;
    add("rows of a recording",
        tree_rows(tree_, calls::net_times(tree_, functions_), functions_, narrow));
    calls::Tree of_goroutine = tree_;
    of_goroutine.goroutine = 17;
    add("tree of a goroutine", tree_text(of_goroutine, functions_, look_));
    calls::Summary summary;
    for (int i = 0; i < 3; ++i) summary.add(tree_, calls::net_times(tree_, functions_));
    add("summary", summary_text(summary, functions_, look_));
    add("whole summary", summary_text(summary, functions_, all));
    EXPECT_EQ(summary_text({}, functions_, look_), "");
    const std::vector<calls::DetachedFunction> out{
        {0, 5'000}, {1, 4'000}, {2, 3'000}, {3, 2'000}, {4, 1'000}};
    add("detached", detached_text(out, functions_, look_));
    add("all detached", detached_text(out, functions_, all));
    calls::Ended ended;
    ended.reason = "the process ended";
    ended.detach_ns = 7'000'000;
    add("ended without a call", ended_text(ended, "serve", 0));
    ended.calls = 10;
    ended.short_calls = 3;
    ended.not_kept = 1;
    ended.not_sent = 2;
    add("ended with losses", ended_text(ended, "serve", 5));
    ended.short_calls = ended.not_kept = ended.not_sent = 0;
    add("ended with every call shown", ended_text(ended, "serve", 10));
    test::expect_text(shown_, "calls_text.txt");
}

TEST_F(CallsText, DeepCallsHaveTheirDepthAsANumber) {
    tree_.calls = {call(0, calls::no_parent, 0, 100'000, 100'000, 0)};
    for (std::uint32_t depth = 1; depth <= 25; ++depth)
        tree_.calls.push_back(call(1, depth - 1, 0, 100'000, 100'000, 0));
    const std::string text = tree_text(tree_, functions_, look_);
    EXPECT_NE(text.find("  " + std::string(48, ' ') + "parse"), std::string::npos) << text;
    EXPECT_NE(text.find(std::string(48, ' ') + "[25] parse"), std::string::npos) << text;
    EXPECT_EQ(text.find("[24]"), std::string::npos) << text;
}

TEST_F(CallsText, ThreeFunctionsOfShorterCallsAreNamed) {
    tree_.calls = {call(0, calls::no_parent, 0, 100'000, 100'000, 0)};
    const auto add_short = [&](std::uint32_t number, std::uint64_t at_us) {
        tree_.calls.push_back(call(number, 0, at_us, 10, 10, 0));
    };
    functions_[3].cost = {};
    add_short(1, 1'000);
    add_short(3, 2'000);
    add_short(3, 3'000);
    add_short(4, 4'000);
    EXPECT_NE(tree_text(tree_, functions_, look_).find("+ 4 shorter calls of tiny, leave, parse\n"),
              std::string::npos);
    add_short(5, 5'000);
    add_short(2, 6'000);
    EXPECT_NE(tree_text(tree_, functions_, look_)
                  .find("+ 6 shorter calls of tiny, die, leave and 2 others\n"),
              std::string::npos);
}

}  // namespace
}  // namespace lagtrap::cli::calls_text_test
