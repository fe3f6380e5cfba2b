// Call trees as text, and processes by name.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/calls/calls_text.hpp"
#include "cli/control/process_name.hpp"

namespace lagtrap::cli::calls_tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

calls::Call call(std::uint32_t function, std::uint32_t parent, std::uint64_t begin_ns,
                 std::uint64_t end_ns) {
    calls::Call made;
    made.function = function;
    made.parent = parent;
    made.begin_ns = begin_ns;
    made.end_ns = end_ns;
    made.on_cpu_ns = end_ns - begin_ns;
    return made;
}

class CallsTextTest : public ::testing::Test {
  protected:
    CallsTextTest() {
        for (const char* name : {"target", "large", "small"})
            functions_.push_back({name, "/bin/program", 0, false, {}, 0, {}, 0});
        functions_.push_back({"elsewhere", "/lib/libother.so", 1, true, {}, 0, {}, 0});
        tree_.thread = "worker";
        tree_.tid = 42;
        tree_.calls = {call(0, calls::no_parent, 0, 1'000'000), call(1, 0, 0, 800'000),
                       call(2, 1, 100, 200), call(2, 1, 300, 500), call(3, 0, 800'000, 900'000)};
    }
    CallsLook look_{Paint(false), 80, false};
    calls::Tree tree_;
    std::vector<calls::Function> functions_;
};

TEST_F(CallsTextTest, WhatTookHalfOfItsCallersTimeStandsOut) {
    const std::string text = tree_text(tree_, functions_, look_);
    EXPECT_THAT(text, HasSubstr("worker (42)  1.00 ms"));
    EXPECT_THAT(text, HasSubstr("!  80 %   800 us   800 us    large\n"));
    EXPECT_THAT(text,
                HasSubstr("   10 %   100 us        -    elsewhere  libother.so  seen, not read\n"));
}

TEST_F(CallsTextTest, ShortCallsAreAddedUpUnlessAllAreWanted) {
    const std::string text = tree_text(tree_, functions_, look_);
    EXPECT_THAT(text, HasSubstr("+ 2 shorter calls of small"));
    EXPECT_THAT(text, Not(HasSubstr("    small\n")));
    look_.all = true;
    const std::string all = tree_text(tree_, functions_, look_);
    EXPECT_THAT(all, Not(HasSubstr("shorter")));
    EXPECT_THAT(all, HasSubstr("      small\n"));
}

TEST_F(CallsTextTest, LeftCallsAndThoseNotKeptAreTold) {
    tree_.calls[1].end = calls::CallEnd::Left;
    tree_.calls[1].left_out = 7;
    const std::string text = tree_text(tree_, functions_, look_);
    EXPECT_THAT(text, HasSubstr("large  left by an exception, longjmp or stack switch"));
    EXPECT_THAT(text, HasSubstr("+ 7 calls not kept"));
}

TEST_F(CallsTextTest, SummaryHasCountsAndExtremes) {
    calls::Summary summary;
    for (int i = 0; i < 3; ++i) summary.add(tree_, calls::net_times(tree_, functions_));
    const std::string text = summary_text(summary, functions_, look_);
    EXPECT_THAT(text, HasSubstr("!   80 %          3   800 us   800 us   800 us    large\n"));
}

TEST(ProcessNameTest, NumbersAndNamesAreFound) {
    const std::filesystem::path proc =
        std::filesystem::path(::testing::TempDir()) / ("proc" + std::to_string(::getpid()));
    for (const auto& [number, name] : {std::pair("11", "one"), {"12", "twin"}, {"13", "twin"}}) {
        std::filesystem::create_directories(proc / number);
        std::ofstream(proc / number / "comm") << name << "\n";
        std::ofstream(proc / number / "cmdline") << name << '\0' << "--option";
    }
    EXPECT_EQ(*find_process("11", proc), 11U);
    EXPECT_EQ(*find_process("one", proc), 11U);
    EXPECT_EQ(find_process("14", proc).error().kind, ErrorKind::NotFound);
    EXPECT_EQ(find_process("none", proc).error().kind, ErrorKind::NotFound);
    const auto twins = find_process("twin", proc);
    ASSERT_FALSE(twins);
    EXPECT_THAT(twins.error().message, HasSubstr("2 processes are named twin"));
    EXPECT_THAT(twins.error().message, HasSubstr("13  twin --option"));
    std::filesystem::remove_all(proc);
}

}  // namespace
}  // namespace lagtrap::cli::calls_tests
