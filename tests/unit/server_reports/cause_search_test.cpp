#include "server/reports/cause_search.hpp"

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::server::reports::cause_search_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double ms = 1e6;

// Milliseconds by place: "main>parse" on a CPU, "main>read[disk]" blocked, "[cpu]" waiting for a
// CPU, "[gap]" unknown.
using Times = std::map<std::string, std::uint64_t>;

analysis::RunProfile profile_of(const Times& times) {
    analysis::RunProfile profile;
    profile.texts = {"", "disk", "between its markers"};
    for (const auto& [place, time_ms] : times) {
        analysis::ProfileLink link;
        link.kind = place == "[cpu]"            ? analysis::TimeKind::Runnable
                    : place == "[gap]"          ? analysis::TimeKind::Unknown
                    : place.ends_with("[disk]") ? analysis::TimeKind::Blocked
                                                : analysis::TimeKind::OnCpu;
        link.reason = link.kind == analysis::TimeKind::Blocked   ? 1
                      : link.kind == analysis::TimeKind::Unknown ? 2
                                                                 : 0;
        std::istringstream functions(place.substr(0, place.find('[')));
        for (std::string function; std::getline(functions, function, '>');) {
            profile.frames.push_back({function, "/usr/bin/app", false});
            profile.nodes.push_back(
                {link.node, static_cast<std::uint32_t>(profile.frames.size() - 1)});
            link.node = static_cast<std::uint32_t>(profile.nodes.size() - 1);
        }
        profile.entries.push_back({time_ms * 1'000'000, {link}});
        profile.duration_ns += time_ms * 1'000'000;
    }
    return profile;
}

class CauseSearch : public testing::Test {
  protected:
    void add(std::size_t runs, bool delayed, const Times& times) {
        ProfiledRun run;
        run.delayed = delayed;
        run.host = "alpha";
        for (std::size_t i = 0; i < runs; ++i) tree_.add(run, profile_of(times));
    }
    void normal(std::size_t runs, const Times& times) { add(runs, false, times); }
    void delayed(std::size_t runs, const Times& times) { add(runs, true, times); }
    std::string path_of(std::uint32_t node) const {
        if (node == 0) return {};
        const std::string before = path_of(tree_.nodes()[node].parent);
        return before + (before.empty() ? "" : ">") +
               tree_.names()[tree_.nodes()[node].name].frame.function;
    }
    SearchResult search() const { return search_causes(tree_, weigh_runs(tree_)); }
    // "path, milliseconds of extra time", and "by share" or the caller.
    std::vector<std::string> suspects() const {
        std::vector<std::string> found;
        for (const Suspect& suspect : search().suspects)
            found.push_back(path_of(suspect.node) + ", " +
                            std::to_string(std::llround(suspect.excess / ms)) +
                            (suspect.by_share ? ", by share" : "") +
                            (suspect.caller != 0 ? ", from " + path_of(suspect.caller) : ""));
        return found;
    }
    // The suspect that time ending at a path counts for.
    std::string suspect_of(const std::string& path) const {
        const SearchResult result = search();
        for (std::uint32_t node = 0; node < tree_.nodes().size(); ++node) {
            if (path_of(node) != path) continue;
            const std::uint32_t suspect = result.suspect_of_node[node];
            return suspect == no_suspect ? "none" : path_of(result.suspects.at(suspect).node);
        }
        return "no such path";
    }

    CauseTree tree_{10'000, 100'000};
};

TEST_F(CauseSearch, WithoutExtraTimeNothingIsSuspected) {
    normal(4, {{"main>work", 10}});
    delayed(4, {{"main>work", 10}});
    const SearchResult result = search();
    EXPECT_THAT(result.suspects, IsEmpty());
    EXPECT_DOUBLE_EQ(result.total_excess, 0);
    EXPECT_EQ(result.suspect_of_node.size(), tree_.nodes().size());
    EXPECT_EQ(suspect_of("main>work"), "none");
}

TEST_F(CauseSearch, AFunctionThatOnlyDelayedRunsHaveIsSuspectedWithItsCaller) {
    normal(4, {{"main>work", 10}});
    delayed(4, {{"main>work", 10}, {"main>parse", 20}});
    EXPECT_THAT(suspects(), ElementsAre("main>parse>[on CPU], 80, from main"));
    const SearchResult result = search();
    EXPECT_NEAR(result.total_excess / ms, 80, 1e-6);
    EXPECT_EQ(result.places, 2U) << "work and parse; main is not apart from the run";
    EXPECT_EQ(suspect_of("main>parse>[on CPU]"), "main>parse>[on CPU]");
    EXPECT_EQ(suspect_of("main>parse"), "none");
    EXPECT_EQ(suspect_of("main>work>[on CPU]"), "none");
}

TEST_F(CauseSearch, EveryStateIsAPlaceOfItsOwn) {
    normal(4, {{"main>work", 10}});
    delayed(4, {{"main>work", 10}, {"main>read[disk]", 30}, {"[cpu]", 40}, {"[gap]", 50}});
    EXPECT_THAT(suspects(),
                ElementsAre("[waits for a CPU], 160", "main>read>[disk], 120, from main"));
    EXPECT_NEAR(search().total_excess / ms, 480, 1e-6) << "unknown time is extra time too";
    EXPECT_EQ(suspect_of("[not recorded]"), "none");
}

TEST_F(CauseSearch, DifferentRunsMayHaveDifferentCauses) {
    normal(4, {{"main>work", 10}});
    delayed(2, {{"main>work", 10}, {"main>parse", 30}});
    delayed(2, {{"main>work", 10}, {"main>save", 20}});
    EXPECT_THAT(suspects(), ElementsAre("main>parse>[on CPU], 60", "main>save>[on CPU], 40"));
}

// 1939 and 1938 ms in all.
TEST_F(CauseSearch, ACauseHasTwoPercentOfAllExtraTime) {
    for (const std::uint64_t odd_ms : {39, 38}) {
        tree_ = CauseTree(10'000, 100'000);
        normal(20, {{"main>work", 10}});
        delayed(19, {{"main>work", 10}, {"main>parse", 100}});
        delayed(1, {{"main>work", 10}, {"main>odd", odd_ms}});
        const auto found = suspects();
        EXPECT_EQ(found.size(), odd_ms == 39 ? 2U : 1U);
        EXPECT_EQ(found.at(0), "main>parse>[on CPU], 1900, from main");
    }
}

TEST_F(CauseSearch, TimeThatIsScatteredOverManyCalleesIsTheirCallers) {
    Times usual{{"main>work", 10}}, slow = usual;
    for (int i = 0; i < 60; ++i) slow["main>f" + std::to_string(i)] = 1;
    normal(4, usual);
    delayed(4, slow);
    EXPECT_THAT(suspects(), ElementsAre("main, 240"));
    EXPECT_EQ(suspect_of("main>f7>[on CPU]"), "main");
    EXPECT_EQ(suspect_of("main>work>[on CPU]"), "main");
}

TEST_F(CauseSearch, TheRestOfACallerIsBlamedIfItHasFivePercent) {
    for (const int callees : {5, 7}) {
        tree_ = CauseTree(10'000, 100'000);
        Times usual{{"main>work", 10}}, slow = usual;
        slow["main>parse"] = 120;
        for (int i = 0; i < callees; ++i) slow["main>f" + std::to_string(i)] = 1;
        normal(4, usual);
        delayed(4, slow);
        if (callees == 5) {
            EXPECT_THAT(suspects(), ElementsAre("main>parse>[on CPU], 480, from main"));
            EXPECT_EQ(suspect_of("main>f1>[on CPU]"), "none");
        } else {
            EXPECT_THAT(suspects(), ElementsAre("main, 28", "main>parse>[on CPU], 480, from main"));
            EXPECT_EQ(suspect_of("main>f1>[on CPU]"), "main");
            EXPECT_EQ(suspect_of("main>parse>[on CPU]"), "main>parse>[on CPU]");
        }
    }
}

TEST_F(CauseSearch, PartsThatGrowTogetherInTheSameRunsAreTheirCallers) {
    normal(4, {{"main>a", 50}, {"main>b", 50}});
    delayed(4, {{"main>a", 90}, {"main>b", 90}});
    EXPECT_THAT(suspects(), ElementsAre("main, 320"));
}

TEST_F(CauseSearch, PartsThatGrowInDifferentRunsAreCauses) {
    normal(8, {{"main>a", 50}, {"main>b", 50}});
    delayed(4, {{"main>a", 90}, {"main>b", 50}});
    delayed(4, {{"main>a", 50}, {"main>b", 90}});
    EXPECT_THAT(suspects(), ElementsAre("main>a>[on CPU], 160", "main>b>[on CPU], 160"));
}

// Where all of a caller grew, four fifths of its extra time make a part the cause.
TEST_F(CauseSearch, APartWithFourFifthsIsTheCause) {
    normal(4, {{"main>a", 50}, {"main>b", 50}});
    delayed(4, {{"main>a", 60}, {"main>b", 95}});
    EXPECT_THAT(suspects(), ElementsAre("main, 40", "main>b>[on CPU], 180, from main"));
    tree_ = CauseTree(10'000, 100'000);
    normal(4, {{"main>a", 50}, {"main>b", 50}});
    delayed(4, {{"main>a", 60}, {"main>b", 85}});
    EXPECT_THAT(suspects(), ElementsAre("main, 180"));
}

TEST_F(CauseSearch, APartThatGrewFarMoreThanEverythingIsFoundByItsShare) {
    normal(4, {{"main>a", 80}, {"main>b", 20}});
    delayed(4, {{"main>a", 120}, {"main>b", 70}});
    EXPECT_THAT(suspects(), ElementsAre("main, 160", "main>b>[on CPU], 200, by share"));
    tree_ = CauseTree(10'000, 100'000);
    normal(4, {{"main>a", 80}, {"main>b", 20}});
    delayed(4, {{"main>a", 120}, {"main>b", 45}});
    EXPECT_THAT(suspects(), ElementsAre("main, 260")) << "1.36 times as much as the run";
}

TEST_F(CauseSearch, AFunctionOfSeveralCallersIsOneSuspectPerCaller) {
    normal(4, {{"main>a>work", 10}, {"main>b>work", 10}});
    delayed(4, {{"main>a>work", 10}, {"main>b>work", 10}, {"main>a>parse", 30}});
    EXPECT_THAT(suspects(), ElementsAre("main>a>parse>[on CPU], 120, from main>a"));
    EXPECT_EQ(suspect_of("main>b>work>[on CPU]"), "none");
}

TEST_F(CauseSearch, APlaceHasOnePercentOfTheTimeAndIsApartFromItsCaller) {
    normal(4, {{"main>work", 990}, {"main>small", 9}});
    delayed(4, {{"main>work", 990}, {"main>small", 9}, {"main>parse>inner", 100}});
    EXPECT_EQ(search().places, 2U) << "work and parse";
}

}  // namespace
}  // namespace lagtrap::server::reports::cause_search_test
