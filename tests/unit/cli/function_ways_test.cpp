// How the functions of a program can be watched.
#include "cli/programs/function_ways.hpp"

#include <map>

#include <gtest/gtest.h>

namespace lagtrap::function_ways_test {
namespace {

using cli::FunctionWay;

// exceptions pass its functions
constexpr const char* library = "/usr/lib/x86_64-linux-gnu/libstdc++.so.6";

TEST(FunctionWays, are_the_same_for_wanted_functions_as_for_all) {
    const auto file = binaries::ProgramFile::open(library);
    ASSERT_TRUE(file) << file.error().message;
    const auto all = cli::ways_to_watch(*file);
    ASSERT_TRUE(all) << all.error().message;
    std::map<std::string, const FunctionWay*> by_name;
    for (const FunctionWay& way : all->functions)
        if (!way.written.empty()) by_name[way.written] = &way;
    const auto some = cli::ways_to_watch(*file, [](const std::string& name, const std::string&) {
        return name.starts_with("std::runtime_error::");
    });
    ASSERT_TRUE(some) << some.error().message;
    std::size_t watchable = 0;
    for (const FunctionWay& way : *some) {
        EXPECT_TRUE(way.name.starts_with("std::runtime_error::")) << way.name;
        EXPECT_TRUE(!way.written.empty() || !way.watchable) << way.name;
        if (way.written.empty()) continue;
        ASSERT_TRUE(by_name.contains(way.written)) << way.written;
        EXPECT_EQ(way.watchable, by_name[way.written]->watchable) << way.written;
        EXPECT_EQ(way.way, by_name[way.written]->way) << way.written;
        if (way.watchable) ++watchable;
    }
    EXPECT_GT(watchable, 0U);
}

TEST(FunctionWays, are_none_if_no_function_is_wanted) {
    const auto file = binaries::ProgramFile::open(library);
    ASSERT_TRUE(file) << file.error().message;
    const auto none =
        cli::ways_to_watch(*file, [](const std::string&, const std::string&) { return false; });
    ASSERT_TRUE(none) << none.error().message;
    EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace lagtrap::function_ways_test
