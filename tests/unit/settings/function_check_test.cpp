#include "settings/function_check.hpp"

#include <gmock/gmock.h>

#include "tests/unit/settings/marker_sources.hpp"

namespace lagtrap::settings::function_check_test {
namespace {

using namespace testing_sources;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::string list = "lagtrap list-markers --functions marked.so";

struct Checked {
    std::vector<std::string> problems, warnings;
};

Checked checked(const std::vector<MarkerSource>& sources) {
    Diagnostics diagnostics;
    CheckedFiles files(diagnostics);
    FunctionCheck check(files, diagnostics);
    for (const MarkerSource& source : sources) check.expect(source);
    for (const MarkerSource& source : sources) check.check(source);
    auto problems = problems_in(diagnostics);
    return {std::move(problems), texts_of(diagnostics.take_warnings())};
}

MarkerSource entry(const std::string& name, std::uint32_t line = 1) {
    MarkerSource source = source_of(MarkerKind::Function, name);
    source.name_place = {line, 1};
    return source;
}

MarkerSource at_return(const std::string& name) {
    MarkerSource source = entry(name);
    source.marker.side = FunctionSide::Return;
    return source;
}

MarkerSource each_call(const std::string& name) {
    MarkerSource source = entry(name);
    source.each_call = true;
    return source;
}

TEST(FunctionCheckTest, FunctionsThatAreThereAreGood) {
    const Checked found =
        checked({entry("serve"), at_return("serve"), each_call("store::put"), each_call("draw")});
    EXPECT_THAT(found.problems, IsEmpty());
    EXPECT_THAT(found.warnings, IsEmpty());
}

TEST(FunctionCheckTest, MissingFunctionsAreNamedWhereTheyAre) {
    EXPECT_THAT(
        checked({entry("serve"), entry("sreve", 4), entry("nothing_like_it_at_all", 3)}).problems,
        ElementsAre("3: marked.so has no function \"nothing_like_it_at_all\"; expected one "
                    "of its functions (" +
                        list + " lists all)",
                    "4: marked.so has no function \"sreve\"; expected one of its functions "
                    "(did you mean serve? (" +
                        list + " lists all))"));
}

// Reading libraries takes long.
TEST(FunctionCheckTest, OnlyTheFirstFunctionsAreLookedForInLibraries) {
    std::vector<MarkerSource> sources;
    std::uint32_t line = 0;
    for (const char* name : {"lckpwdf", "ulckpwdf", "putpwent", "fgetspent", "putspent", "hcreate",
                             "hdestroy", "sigandset", "sigorset"})
        sources.push_back(entry(name, ++line));
    const auto problems = checked(sources).problems;
    ASSERT_EQ(problems.size(), 9U);
    for (std::size_t i = 0; i < 8; ++i)
        EXPECT_THAT(problems[i],
                    AllOf(HasSubstr("it is in binary=\""), HasSubstr("libc.so.6\", a library of"),
                          Not(HasSubstr(list))));
    EXPECT_THAT(problems[8], AllOf(HasSubstr(list), Not(HasSubstr("it is in binary"))));
}

TEST(FunctionCheckTest, AnAmbiguousNameListsAFewOfItsFunctions) {
    const auto problems = checked({entry("store::get")}).problems;
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(
        problems[0],
        AllOf(StartsWith("1: 6 functions in marked.so are named \"store::get\"; expected a "
                         "unique name, such as its symbol (these are: store::get("),
              HasSubstr("store::get(char const*) (_ZN5store3getEPKc)"), EndsWith(" and 1 more)")));
    std::size_t listed = 0;
    for (std::size_t at = problems[0].find("(_ZN"); at != std::string::npos;
         at = problems[0].find("(_ZN", at + 1))
        ++listed;
    EXPECT_EQ(listed, 5U);
}

TEST(FunctionCheckTest, FunctionsOfTheSameSymbolDifferInTheirAddress) {
    const auto problems = checked({entry("twin")}).problems;
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_THAT(problems[0],
                testing::MatchesRegex("1: 2 functions in marked.so are named \"twin\"; expected a "
                                      "unique name \\(these are: twin\\(int\\) at 0x[0-9a-f]+, "
                                      "twin\\(int\\) at 0x[0-9a-f]+\\)"));
}

TEST(FunctionCheckTest, AReturnThatCannotBeWatchedMattersOnlyWhereItIsWatched) {
    EXPECT_THAT(checked({entry("serve_for_ever"), entry("idle")}).problems, IsEmpty());
    const std::string why = "; expected a function that takes time and whose return can be probed ";
    EXPECT_THAT(checked({at_return("idle")}).problems,
                ElementsAre("1: function \"idle\" of marked.so cannot be watched: only returns, so "
                            "no time passes in it" +
                            why + "(watch its caller (" + list + " shows which can be watched))"));
    EXPECT_THAT(checked({each_call("serve_for_ever")}).problems,
                ElementsAre(AllOf(HasSubstr("function \"serve_for_ever\" of marked.so cannot be "
                                            "watched: "),
                                  HasSubstr("never returns"), HasSubstr(why))));
}

TEST(FunctionCheckTest, TailCallsThroughAPointerAreWarnedOf) {
    const Checked found = checked({each_call("hand_over")});
    EXPECT_THAT(found.problems, IsEmpty());
    ASSERT_EQ(found.warnings.size(), 1U);
    EXPECT_THAT(found.warnings[0],
                AllOf(StartsWith("1: function \"hand_over\" of "),
                      EndsWith("may end in a jump through a pointer (tail call); the function that "
                               "it jumps to does not count, so watch the caller if that is slow")));
    EXPECT_THAT(checked({entry("hand_over")}).warnings, IsEmpty());
    EXPECT_THAT(checked({each_call("hold")}).warnings, IsEmpty());
}

TEST(FunctionCheckTest, CallsOfOtherLanguagesThanGoMayBeRecorded) {
    MarkerSource source = each_call("serve");
    source.calls_place = Place{6, 1};
    EXPECT_THAT(checked({source}).problems, IsEmpty());
}

TEST(FunctionCheckTest, FilesAreRefusedOnce) {
    std::vector<MarkerSource> sources{entry("a"), entry("b", 2)};
    for (MarkerSource& source : sources) source.marker.binary = "/etc/passwd";
    EXPECT_THAT(checked(sources).problems,
                ElementsAre("2: /etc/passwd: is not a program or library (ELF); expected a program "
                            "or library (64-bit ELF)"));
}

}  // namespace
}  // namespace lagtrap::settings::function_check_test
