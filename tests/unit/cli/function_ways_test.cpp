// How the functions of a program can be watched.
#include "cli/programs/function_ways.hpp"

#include <map>
#include <tuple>

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

TEST(FunctionWays, are_counted_by_their_code) {
    const auto file = binaries::ProgramFile::open(library);
    ASSERT_TRUE(file) << file.error().message;
    const auto all = cli::ways_to_watch(*file);
    ASSERT_TRUE(all) << all.error().message;
    const FunctionWay* before = nullptr;
    std::size_t conditional = 0, single = 0;
    for (const FunctionWay& way : all->functions) {
        if (before != nullptr) {
            EXPECT_LT(std::tie(before->name, before->written), std::tie(way.name, way.written));
        }
        before = &way;
        EXPECT_EQ(way.watchable, !way.way.starts_with("not: ")) << way.name << ": " << way.way;
        if (way.way.find(" conditional") != std::string::npos) ++conditional;
        if (way.way == "1 exit") ++single;
    }
    EXPECT_GT(conditional, 0U);
    EXPECT_GT(single, 0U);
    EXPECT_GT(all->watched, 0U);
    EXPECT_LE(all->watched + all->nothing_to_watch, all->count);
}

TEST(FunctionWays, without_a_name_of_their_own_are_not_for_settings) {
    const auto file = binaries::ProgramFile::open(library);
    ASSERT_TRUE(file) << file.error().message;
    const auto all = cli::ways_to_watch(
        *file, [](const std::string&, const std::string& written) { return written.empty(); });
    ASSERT_TRUE(all) << all.error().message;
    for (const FunctionWay& way : *all) {
        EXPECT_EQ(way.way, "not: has no unique name") << way.name;
        EXPECT_FALSE(way.watchable) << way.name;
    }
}

TEST(FunctionWays, are_summed_up_in_a_sentence) {
    cli::FunctionWays ways;
    EXPECT_EQ(ways.summary(),
              "0 functions: 0 can be watched, 0 never return or do nothing, 0 cannot be watched "
              "(100.00 % of the rest can)");
    ways.count = 1234;
    ways.watched = 1000;
    ways.nothing_to_watch = 34;
    EXPECT_EQ(ways.summary(),
              "1,234 functions: 1,000 can be watched, 34 never return or do nothing, 200 cannot be "
              "watched (83.33 % of the rest can)");
}

}  // namespace
}  // namespace lagtrap::function_ways_test
