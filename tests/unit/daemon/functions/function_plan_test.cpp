#include "daemon/functions/function_plan.hpp"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::function_plan_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
class FunctionPlanTest : public testing::Test {
  protected:
    Result<FunctionPlan> plan(const std::string& include = {}, const std::string& exclude = {},
                              std::uint32_t pid = MadeUpProcess::pid) {
        FunctionWishes wishes;
        wishes.pid = pid;
        wishes.include = include;
        wishes.exclude = exclude;
        return plan_functions(wishes, process_, given_up_);
    }
    // As "0:main", with the number of its file.
    static std::vector<std::string> names_of(const FunctionPlan& plan) {
        std::vector<std::string> names;
        for (const PlannedFunction& one : plan.functions) {
            EXPECT_EQ(one.level, 1U);
            EXPECT_FALSE(one.first_code.empty());
            names.push_back(std::to_string(one.file) + ":" + one.name);
        }
        return names;
    }
    static std::uint64_t count_of(const std::vector<calls::ReasonCount>& counts,
                                  const std::string& reason) {
        for (const auto& one : counts)
            if (one.reason == reason) return one.count;
        return 0;
    }

    MadeUpProcess process_{
        {"/opt/shop/shop", "/opt/shop/libown.so", "/usr/lib/libsys.so.1", "/usr/lib/libother.so"}};
    std::atomic<bool> given_up_{false};
};

TEST_F(FunctionPlanTest, WatchesTheApplicationsOwnFunctions) {
    const auto found = plan();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(names_of(*found),
                ElementsAre("0:outermost_function", "0:main", "1:outermost_function", "1:main"));
    EXPECT_THAT(found->reported.own_files, ElementsAre("/opt/shop/shop", "/opt/shop/libown.so"));
    EXPECT_EQ(count_of(found->reported.system_files, "system library"), 2U);
    EXPECT_GE(count_of(found->reported.system_functions, "program startup and exit"), 2U);
    EXPECT_EQ(found->reported.moved_in, 0U);
    EXPECT_EQ(found->reported.moved_out, 0U);
    EXPECT_EQ(found->reported.beyond_limit, 0U);
    ASSERT_EQ(found->files.size(), 4U);
    EXPECT_EQ(found->files[1].path, "/opt/shop/libown.so");
    EXPECT_NE(found->files[1].file, nullptr);
    EXPECT_EQ(found->files[2].file, nullptr) << "nothing in it is needed";
}

TEST_F(FunctionPlanTest, PatternsExcludeFunctionsAndFiles) {
    const auto without_main = plan({}, "^main$");
    ASSERT_TRUE(without_main);
    EXPECT_THAT(names_of(*without_main),
                ElementsAre("0:outermost_function", "1:outermost_function"));
    EXPECT_EQ(without_main->reported.moved_out, 2U);
    const auto without_library = plan({}, "^libown");
    ASSERT_TRUE(without_library);
    EXPECT_THAT(names_of(*without_library), ElementsAre("0:outermost_function", "0:main"));
    EXPECT_THAT(without_library->reported.own_files, ElementsAre("/opt/shop/shop"));
}

TEST_F(FunctionPlanTest, PatternsIncludeWhatBelongsToTheSystem) {
    const auto with_main = plan("^main$", "^libown");
    ASSERT_TRUE(with_main);
    EXPECT_THAT(names_of(*with_main),
                ElementsAre("0:outermost_function", "0:main", "2:main", "3:main"));
    EXPECT_EQ(with_main->reported.moved_in, 2U) << "what is its own anyway does not count";
    EXPECT_THAT(with_main->reported.system_files, IsEmpty());
    const auto out_wins = plan("^main$", "^main$|^lib");
    ASSERT_TRUE(out_wins);
    EXPECT_THAT(names_of(*out_wins), ElementsAre("0:outermost_function"));
    EXPECT_EQ(out_wins->reported.moved_in, 0U);
    EXPECT_EQ(count_of(out_wins->reported.system_files, "system library"), 2U);
}

TEST_F(FunctionPlanTest, OnlyTheProgramMustBeReadable) {
    process_.unreadable = {"/opt/shop/libown.so"};
    const auto found = plan();
    ASSERT_TRUE(found);
    EXPECT_THAT(names_of(*found), ElementsAre("0:outermost_function", "0:main"));
    EXPECT_EQ(count_of(found->reported.refused, "is locked"), 1U);
    process_.unreadable = {"/opt/shop/shop"};
    const auto refused = plan();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::Denied);
}

TEST_F(FunctionPlanTest, SaysWhyNothingIsWatched) {
    const auto all_out = plan({}, ".");
    ASSERT_FALSE(all_out);
    EXPECT_EQ(all_out.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(all_out.error().message,
                HasSubstr("/opt/shop/shop and its own libraries have no named functions"));
    EXPECT_EQ(plan("(").error().kind, ErrorKind::Invalid);
    EXPECT_THAT(plan({}, "[a").error().message,
                HasSubstr("\"[a\" is not a valid regular expression: "));
    EXPECT_EQ(plan({}, {}, 8).error().message, "no process 8, or it is a kernel thread");
    given_up_ = true;
    EXPECT_EQ(plan().error().kind, ErrorKind::Timeout);
    EXPECT_EQ(plan().error().message, "the trace was cancelled");
}

TEST(HooksOfFunctions, AreCountedByKindMostFrequentFirst) {
    PlannedFunction simple, stepped, by_exits;
    simple.first_code = by_exits.first_code = std::string("\x55\x48\x89\xe5", 4);
    stepped.first_code = std::string("\x48\x89\xe5\x90", 4);
    by_exits.exits.resize(1);
    FunctionPlan plan;
    plan.functions = {stepped, by_exits, simple, by_exits};
    plan.silent = {"its Python has no probes"};
    plan.runtimes.resize(1);
    CallCosts costs;
    costs.inside = {{{{{1, 2}, {30, 40}, {5, 6}}}, {{{700, 80}, {9, 10}, {11, 12}}}}};
    const auto hooks = hooks_of(plan, costs);
    ASSERT_EQ(hooks.size(), 5U);
    EXPECT_EQ(hooks[0].functions, 2U);
    EXPECT_EQ(hooks[0].entry + ", " + hooks[0].exit, "breakpoint, instructions");
    EXPECT_EQ(hooks[0].reason, "exceptions or other stacks");
    EXPECT_EQ(hooks[0].cost_ns, 70U);
    EXPECT_EQ(hooks[1].entry + ", " + hooks[1].exit, "breakpoint, return probe");
    EXPECT_EQ(hooks[1].reason, "no exceptions, one stack");
    EXPECT_EQ(hooks[1].cost_ns, 3U);
    EXPECT_EQ(hooks[2].entry + ", " + hooks[2].exit, "breakpoint, stepped, return probe");
    EXPECT_EQ(hooks[2].cost_ns, 780U);
    EXPECT_EQ(hooks[2].functions, 1U);
    EXPECT_EQ(hooks[3].cost_ns, 11U) << "of a runtime's probes";
    EXPECT_THAT(hooks[3].reason, HasSubstr(calls::traits_of(plan.runtimes[0].runtime).language));
    EXPECT_EQ(hooks[4].entry + hooks[4].exit, "nonenone");
    EXPECT_EQ(hooks[4].reason, "its Python has no probes");
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::function_plan_test
