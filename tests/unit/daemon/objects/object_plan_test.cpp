#include "daemon/objects/object_plan.hpp"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::object_plan_test {
namespace {

using calls::Failure;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

#if defined(__x86_64__)
class ObjectPlanTest : public testing::Test {
  protected:
    ObjectPlanTest() {
        wishes_.pid = MadeUpProcess::pid;
        wishes_.memory = false;
        wishes_.rules.resize(1);
        rule().name = "thing";
    }
    calls::ObjectRule& rule() { return wishes_.rules[0]; }
    static std::vector<calls::ObjectFunctions> functions(const char* text) {
        return calls::parse_object_functions(text).value();
    }
    Result<ObjectPlan> plan() { return ObjectPlanner(process_, given_up_).plan(wishes_); }
    // As "0:main", with the number of its file.
    static std::vector<std::string> names_of(const ObjectPlan& plan) {
        std::vector<std::string> names;
        for (const PlannedFunction& one : plan.functions)
            names.push_back(std::to_string(one.file) + ":" + one.name);
        return names;
    }
    // How the only function is watched.
    lagtrap_object_function sole() {
        const auto found = plan();
        EXPECT_TRUE(found) << found.error().message;
        if (!found) return {};
        EXPECT_EQ(found->described.size(), 1U);
        return found->described.at(0);
    }

    MadeUpProcess process_{{"/opt/shop/shop"}};
    std::atomic<bool> given_up_{false};
    ObjectWishes wishes_;
};

TEST_F(ObjectPlanTest, FunctionsHaveTheRoleOfTheFirstPatternThatFits) {
    process_.paths.push_back("/opt/shop/libown.so");
    rule().create = functions("ma*:result");
    rule().release = functions("main:arg0 outermost_*:arg0");
    rule().use = functions("*:arg0");
    wishes_.exclude = "^_|_clones$|_dtors_aux$|^frame_dummy$";
    const auto found = plan();
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_THAT(names_of(*found),
                ElementsAre("0:outermost_function", "0:main", "1:outermost_function", "1:main"));
    EXPECT_EQ(found->described[0].role, LAGTRAP_OBJECT_RELEASE);
    EXPECT_EQ(found->described[1].role, LAGTRAP_OBJECT_CREATE);
    EXPECT_EQ(found->described[1].object_from, LAGTRAP_FROM_RESULT);
    EXPECT_EQ(found->described[1].title_from, LAGTRAP_FROM_NOWHERE);
    EXPECT_EQ(found->described[1].inner_end, 0U) << "the program's own calls count";
    EXPECT_EQ(found->described[3].inner_begin, 2 * MadeUpProcess::distance);
    EXPECT_EQ(found->described[3].inner_end, 2 * MadeUpProcess::distance + 0x10000);
    EXPECT_THAT(found->reported.classes, ElementsAre("thing"));
    EXPECT_EQ(found->reported.functions.at(2).function.module, "/opt/shop/libown.so");
    EXPECT_EQ(found->reported.functions.at(1).function.name, "main");
    EXPECT_EQ(found->reported.memory, "not requested");
    EXPECT_THAT(found->reported.notes, IsEmpty());
}

TEST_F(ObjectPlanTest, PatternsOfPeopleChooseAmongUsesOnly) {
    rule().create = functions("main:result");
    rule().use = functions("outermost_function:arg0");
    const auto planned = [&](const char* include, const char* exclude) {
        wishes_.include = include;
        wishes_.exclude = exclude;
        return names_of(plan().value());
    };
    EXPECT_THAT(planned("", ""), ElementsAre("0:outermost_function", "0:main"));
    EXPECT_THAT(planned("", "."), ElementsAre("0:main"));
    EXPECT_THAT(planned("other", ""), ElementsAre("0:main"));
    EXPECT_THAT(planned("most", ""), ElementsAre("0:outermost_function", "0:main"));
    EXPECT_THAT(planned("most", "function"), ElementsAre("0:main"));
}

TEST_F(ObjectPlanTest, ObjectsAreInTheRegistersOfTheirArguments) {
    const std::vector<unsigned> registers{7, 6, 2, 1, 8, 9};
    for (unsigned argument = 0; argument < registers.size(); ++argument) {
        rule().use = functions(("main:arg" + std::to_string(argument)).c_str());
        const auto described = sole();
        EXPECT_EQ(described.object_from, registers[argument]) << argument;
        EXPECT_EQ(described.object_behind, 0U);
        EXPECT_EQ(described.role, LAGTRAP_OBJECT_USE);
    }
    rule().use.clear();
    rule().create = functions("main:arg1*");
    rule().title = 2;
    EXPECT_EQ(sole().object_behind, 1U);
    EXPECT_EQ(sole().title_from, 2U);
    EXPECT_EQ(sole().reused, 0U);
    rule().reused = true;
    EXPECT_EQ(sole().reused, 1U);
    rule().create.clear();
    rule().release = functions("main:arg0");
    EXPECT_EQ(sole().title_from, LAGTRAP_FROM_NOWHERE) << "only what creates has a title";
}

TEST_F(ObjectPlanTest, FailuresAreThoseOfTheRoleOrOfTheFunction) {
    rule().use = functions("main:arg0");
    rule().create_failure = rule().release_failure = Failure::Null;
    rule().successes = {100, -5};
    rule().excepts = {11};
    for (const auto& [failure, expected] :
         std::vector<std::pair<Failure, int>>{{Failure::Never, LAGTRAP_FAILS_NEVER},
                                              {Failure::Negative, LAGTRAP_FAILS_NEGATIVE},
                                              {Failure::Null, LAGTRAP_FAILS_NULL},
                                              {Failure::Nonzero, LAGTRAP_FAILS_NONZERO},
                                              {Failure::NotPositive, LAGTRAP_FAILS_NOT_POSITIVE},
                                              {Failure::MinusOne, LAGTRAP_FAILS_MINUS_ONE}}) {
        rule().use_failure = failure;
        const auto described = sole();
        EXPECT_EQ(described.failure, expected);
        EXPECT_EQ(described.successes, 2U);
        EXPECT_EQ(described.success[1], -5);
        EXPECT_EQ(described.except[0], expected == LAGTRAP_FAILS_MINUS_ONE ? 11 : 0);
    }
    rule().use = functions("main:arg0:nonzero");
    EXPECT_EQ(sole().failure, LAGTRAP_FAILS_NONZERO);
    rule().use.clear();
    rule().message = functions("main:arg0");
    EXPECT_EQ(sole().failure, LAGTRAP_FAILS_NEVER);
    EXPECT_EQ(sole().role, LAGTRAP_OBJECT_MESSAGE);
}

TEST_F(ObjectPlanTest, ALibraryIsMeantByItsFileName) {
    process_.paths.push_back("/usr/lib/libthing.so.3");
    rule().library = "libthing.so*";
    rule().create = functions("main:result");
    auto found = plan();
    ASSERT_TRUE(found);
    EXPECT_THAT(names_of(*found), ElementsAre("1:main"));
    wishes_.rules.push_back(rule());
    wishes_.rules[1].name = "other";
    wishes_.rules[1].library = "libmissing.so";
    found = plan();
    ASSERT_TRUE(found);
    EXPECT_THAT(found->reported.notes,
                Contains("other: none of its functions are in the process or in library "
                         "libmissing.so"));
    wishes_.rules[1].library.clear();
    wishes_.rules[1].create = functions("missing:result");
    EXPECT_THAT(plan()->reported.notes,
                Contains("other: none of its functions are in the process"));
}

TEST_F(ObjectPlanTest, SaysThatObjectsAreUnknownUntilTheyAreUsed) {
    rule().use = functions("main:arg0");
    EXPECT_THAT(plan()->reported.notes,
                ElementsAre("thing: no creating function found (inlined?); objects are unknown "
                            "until they are used"));
}

TEST_F(ObjectPlanTest, SaysWhyMemoryIsNotCounted) {
    rule().create = functions("main:result");
    wishes_.memory = true;
    auto found = plan();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->reported.memory,
              "no allocator found: nothing in the process defines malloc and free");
    EXPECT_THAT(found->memory, IsEmpty());
    process_.paths.push_back("/usr/lib/libc.so.6");
    rule().library = "shop";
    found = plan();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->reported.memory, "the C library's allocator was not found");
    EXPECT_EQ(found->memory_file, 1U);
}

TEST_F(ObjectPlanTest, SaysWhyNothingIsWatched) {
    rule().create = functions("missing:result");
    wishes_.rules.resize(2);
    wishes_.rules[1].name = "other";
    const auto found = plan();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(found.error().message,
                HasSubstr("no function of thing, other is in /opt/shop/shop or in its loaded"));
    wishes_.include = "(";
    EXPECT_EQ(plan().error().kind, ErrorKind::Invalid);
    wishes_.include.clear();
    wishes_.pid = 8;
    EXPECT_EQ(plan().error().kind, ErrorKind::NotFound);
    wishes_.pid = MadeUpProcess::pid;
    given_up_ = true;
    EXPECT_EQ(plan().error().kind, ErrorKind::Timeout);
}

TEST_F(ObjectPlanTest, AddressesHaveTheNamesOfFunctionsAndFiles) {
    rule().create = functions("main:result");
    ObjectPlanner planner(process_, given_up_);
    const auto found = planner.plan(wishes_);
    ASSERT_TRUE(found);
    const std::uint64_t main_at = MadeUpProcess::distance + found->functions[0].entry;
    EXPECT_EQ(planner.name_of(main_at), "main (shop)");
    EXPECT_EQ(planner.name_of(main_at + 1), "main (shop)");
    EXPECT_EQ(planner.name_of(main_at - 1).find("main"), std::string::npos);
    EXPECT_EQ(planner.name_of(MadeUpProcess::distance + 0xffff), "shop+0xffff");
    EXPECT_EQ(planner.name_of(MadeUpProcess::distance + 0x10000), "");
    EXPECT_EQ(planner.name_of(MadeUpProcess::distance - 1), "");
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::object_plan_test
