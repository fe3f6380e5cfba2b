// Every field of the lines of a call tree made by hand.
#include <gtest/gtest.h>

#include "analysis/call_tree.hpp"
#include "tests/unit/analysis/made_recording.hpp"

namespace lagtrap::analysis::call_lines_test {
namespace {

const std::string libc = "!/usr/lib/x86_64-linux-gnu/libc.so.6!";

StackTimes::Times times_of(std::uint64_t on_cpu_ns, std::uint64_t blocked_ns = 0,
                           std::uint64_t waiting_ns = 0) {
    StackTimes::Times times;
    times.on_cpu_ns = on_cpu_ns;
    times.blocked_ns = blocked_ns;
    times.waiting_ns = waiting_ns;
    return times;
}

class CallLines : public ::testing::Test {
  protected:
    void add(const std::vector<std::string>& frames, const StackTimes::Times& times) {
        tree_.add(made_.stack(frames), times);
    }
    // The last frame of the last stack is at this line of a file.
    void locate(const std::string& source, std::uint32_t line) {
        made_.recording.frames.back().source = made_.name(source);
        made_.recording.frames.back().line = line;
    }
    test::MadeRecording made_;
    CallTree tree_{made_.recording};
};

TEST_F(CallLines, HaveEachKindOfTime) {
    add({"main", "serve"}, times_of(50, 30, 20));
    add({"main"}, times_of(10, 5, 3));
    EXPECT_EQ(tree_.total_ns(), 118U);
    const auto lines = tree_.lines(1, 10);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].functions, std::vector<std::string>{"main"});
    EXPECT_EQ(lines[0].place.function, "main");
    EXPECT_EQ(lines[0].place.module, "/usr/bin/app");
    EXPECT_EQ(lines[0].depth, 0U);
    EXPECT_EQ(lines[0].on_cpu_ns, 60U);
    EXPECT_EQ(lines[0].blocked_ns, 35U);
    EXPECT_EQ(lines[0].waiting_ns, 23U);
    EXPECT_EQ(lines[0].own_ns, 18U);
    EXPECT_EQ(lines[1].functions, std::vector<std::string>{"serve"});
    EXPECT_EQ(lines[1].depth, 1U);
    EXPECT_EQ(lines[1].on_cpu_ns, 50U);
    EXPECT_EQ(lines[1].blocked_ns, 30U);
    EXPECT_EQ(lines[1].waiting_ns, 20U);
    EXPECT_EQ(lines[1].own_ns, 100U);
    EXPECT_EQ(lines[1].nameless_ns, 0U);
    EXPECT_EQ(lines[1].called_ns, 0U);
}

TEST_F(CallLines, HaveTheFunctionThatWasCalledLongest) {
    add({"main", "serve", libc + "read", "k:ksys_read"}, times_of(30));
    add({"main", "serve", libc + "write"}, times_of(50));
    add({"main", "serve", libc + "close"}, times_of(20));
    const auto lines = tree_.innermost(10);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].place.function, "serve");
    EXPECT_EQ(lines[0].place.called, "write");
    EXPECT_EQ(lines[0].place.called_module, "/usr/lib/x86_64-linux-gnu/libc.so.6");
    EXPECT_EQ(lines[0].called_ns, 50U);
    EXPECT_EQ(lines[0].own_ns, 100U);
}

TEST_F(CallLines, HaveTheSourceLineWithMostOfTheTime) {
    const auto add_at = [&](std::uint32_t line, std::uint64_t time_ns) {
        const StackId stack = made_.stack({"main", "serve"});
        locate("/src/a.cpp", line);
        tree_.add(stack, times_of(time_ns));
    };
    add_at(3, 20);
    add_at(5, 30);
    add_at(3, 15);
    add({"main", "serve"}, times_of(90));
    const auto lines = tree_.innermost(10);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].place.source, "/src/a.cpp");
    EXPECT_EQ(lines[0].place.line, 3U);
}

TEST_F(CallLines, OfOneFunctionAreOneWhateverItsCallers) {
    add({"main", "a", "work"}, times_of(10, 4));
    add({"main", "b", "work"}, times_of(20, 0, 5));
    add({"main", "b"}, times_of(30));
    const auto lines = tree_.innermost(10);
    ASSERT_EQ(lines.size(), 2U);
    EXPECT_EQ(lines[0].place.function, "work");
    EXPECT_EQ(lines[0].functions, std::vector<std::string>{"work"});
    EXPECT_EQ(lines[0].on_cpu_ns, 30U);
    EXPECT_EQ(lines[0].blocked_ns, 4U);
    EXPECT_EQ(lines[0].waiting_ns, 5U);
    EXPECT_EQ(lines[0].own_ns, 39U);
    EXPECT_EQ(lines[1].place.function, "b");
    EXPECT_EQ(lines[1].on_cpu_ns, 30U) << "without what it called";
    EXPECT_EQ(tree_.innermost(1).size(), 1U);
}

TEST_F(CallLines, AreTheLongestOnesInTheirOrder) {
    add({"main", "a"}, times_of(10));
    add({"main", "b"}, times_of(30));
    add({"main", "c"}, times_of(20));
    const auto functions = [&](std::uint64_t min_ns, std::size_t limit) {
        std::string text;
        for (const CallLine& line : tree_.lines(min_ns, limit)) text += line.place.function + " ";
        return text;
    };
    EXPECT_EQ(functions(1, 10), "main b c a ");
    EXPECT_EQ(functions(1, 3), "main b c ");
    EXPECT_EQ(functions(11, 10), "main b c ");
    EXPECT_EQ(functions(10, 10), "main b c a ");
    EXPECT_EQ(functions(61, 10), "");
}

}  // namespace
}  // namespace lagtrap::analysis::call_lines_test
