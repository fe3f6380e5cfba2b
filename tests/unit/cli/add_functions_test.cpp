// Which functions of a recording look like handlers of requests.
#include <gmock/gmock.h>

#include "analysis/block_reason.hpp"
#include "cli/add/add_offers.hpp"
#include "core/result.hpp"

namespace lagtrap::cli::add_functions_test {
namespace {

using analysis::TimeKind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t ms = 1'000'000;
constexpr const char* shop = "/usr/bin/shop";

// A profile in which threads of process 7 have stacks one after another.
class Profile {
  public:
    Profile() {
        profile_.texts.emplace_back(analysis::facts_of(analysis::BlockReason::Events).name);
        profile_.texts.emplace_back("disk");
    }
    // "name" is a function of the shop, "/path!name" one of another file, "k:name" the kernel's.
    void add(std::uint32_t tid, const std::vector<std::string>& functions, std::uint64_t length_ms,
             TimeKind kind = TimeKind::OnCpu, std::uint32_t reason = 0, std::uint32_t pid = 7) {
        formats::Piece piece;
        piece.stack = piece.leaf = node_of(functions);
        piece.weight_ns = piece.length_ns = length_ms * ms;
        piece.kind = kind;
        piece.reason = reason;
        thread(pid, tid).pieces.push_back(piece);
    }
    void wait_for_events(std::uint32_t tid, const std::vector<std::string>& functions,
                         std::uint64_t length_ms) {
        add(tid, functions, length_ms, TimeKind::Blocked, 1);
    }
    [[nodiscard]] std::vector<SeenFunction> seen() const {
        AddTarget target{shop, shop, "", {}};
        target.processes.resize(2);
        target.processes[0].pid = 7;
        target.processes[1].pid = 8;
        return functions_seen(target, profile_);
    }
    [[nodiscard]] std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const SeenFunction& one : seen()) all.push_back(one.name);
        return all;
    }

  private:
    formats::ProfiledThread& thread(std::uint32_t pid, std::uint32_t tid) {
        for (auto& one : profile_.threads)
            if (one.tid == tid) return one;
        formats::ProfiledThread& made = profile_.threads.emplace_back();
        made.pid = pid;
        made.tid = tid;
        return made;
    }
    std::uint32_t node_of(const std::vector<std::string>& functions) {
        std::uint32_t node = 0;
        for (const std::string& function : functions) {
            formats::Place place;
            place.kernel = function.starts_with("k:");
            place.state = function.starts_with("s:");
            const auto mark = function.find('!');
            place.module = mark == std::string::npos ? shop : function.substr(0, mark);
            place.function = mark == std::string::npos ? function : function.substr(mark + 1);
            profile_.places.push_back(place);
            profile_.nodes.push_back(
                {node, static_cast<std::uint32_t>(profile_.places.size() - 1)});
            node = static_cast<std::uint32_t>(profile_.nodes.size() - 1);
        }
        return node;
    }
    formats::StackProfile profile_;
};

TEST(FunctionsSeen, AreThoseOfTheProgramMostTimeFirst) {
    Profile profile;
    profile.add(7, {"main", "/lib/libc.so!run", "serve", "[shop]", "k:read", "s:blocked"}, 30);
    profile.wait_for_events(7, {"main"}, 10);
    profile.add(7, {"main", "buy"}, 60);
    profile.wait_for_events(7, {"main"}, 10);
    EXPECT_EQ(profile.seen(),
              (std::vector<SeenFunction>{{"buy", 666, false, {}}, {"serve", 333, false, {}}}));
}

TEST(FunctionsSeen, AFunctionThatIsAlwaysThereIsTheLoop) {
    Profile profile;
    for (int i = 0; i < 5; ++i) {
        profile.add(7, {"main", "loop", "serve"}, 10);
        profile.wait_for_events(7, {"main", "loop"}, 10);
    }
    EXPECT_THAT(profile.names(), ElementsAre("serve"));
}

TEST(FunctionsSeen, AFunctionThatIsCalledAgainAndAgainIsNone) {
    Profile profile;
    for (int i = 0; i < 3; ++i) {
        profile.add(7, {"main", "serve"}, 1000);
        profile.add(7, {"main"}, 1);
    }
    EXPECT_THAT(profile.names(), ElementsAre("serve")) << "three times in one thread";
    Profile twice;
    for (int i = 0; i < 2; ++i) {
        twice.add(7, {"main", "serve"}, 1000);
        twice.add(7, {"main"}, 1);
    }
    EXPECT_THAT(twice.names(), IsEmpty());
    Profile with_pauses;
    with_pauses.add(7, {"main", "serve"}, 97);
    with_pauses.add(7, {"main"}, 3);
    EXPECT_THAT(with_pauses.names(), ElementsAre("serve"));
    Profile with_less;
    with_less.add(7, {"main", "serve"}, 99);
    with_less.add(7, {"main"}, 1);
    EXPECT_THAT(with_less.names(), IsEmpty());
}

TEST(FunctionsSeen, RareOnesAndThoseThatOnlyWaitAreLeftOut) {
    Profile profile;
    profile.add(7, {"main", "often"}, 91);
    profile.add(7, {"main", "enough"}, 5);
    profile.add(7, {"main", "rare"}, 4);
    profile.add(7, {"main", "waits"}, 50, TimeKind::Blocked, 2);
    profile.add(7, {"main"}, 50, TimeKind::Blocked, 2);
    EXPECT_THAT(profile.names(), ElementsAre("often", "enough"));
}

TEST(FunctionsSeen, OfOtherProcessesDoNotCount) {
    Profile profile;
    profile.add(9, {"main", "foreign"}, 500, TimeKind::OnCpu, 0, 6);
    profile.add(8, {"main", "buy"}, 50, TimeKind::OnCpu, 0, 8);
    profile.wait_for_events(8, {"main"}, 50);
    EXPECT_EQ(profile.seen(), (std::vector<SeenFunction>{{"buy", 1000, false, {}}}));
}

TEST(FunctionsSeen, MostlyWaitForEventsIfMoreThanHalfOfTheTime) {
    const auto waits = [](std::uint64_t waited_ms, std::uint32_t reason) {
        Profile profile;
        profile.add(7, {"main", "serve"}, 50);
        profile.add(7, {"main", "serve"}, waited_ms, TimeKind::Blocked, reason);
        profile.add(7, {"main"}, 50);
        return profile.seen().at(0).waits_for_events;
    };
    EXPECT_TRUE(waits(51, 1));
    EXPECT_FALSE(waits(50, 1));
    EXPECT_FALSE(waits(51, 2)) << "a disk is no event";
}

TEST(FunctionsSeen, AmongEqualsTheOutermostIsFirst) {
    Profile profile;
    profile.add(7, {"main", "zebra", "apple"}, 50);
    profile.wait_for_events(7, {"main"}, 50);
    EXPECT_THAT(profile.names(), ElementsAre("zebra", "apple"));
    Profile recursive;
    recursive.add(7, {"main", "serve", "walk", "serve", "walk"}, 50);
    recursive.wait_for_events(7, {"main"}, 50);
    EXPECT_EQ(recursive.seen().at(0).share_permille, 1000U) << "recursion counts once";
    EXPECT_THAT(recursive.names(), ElementsAre("serve", "walk"));
}

TEST(FunctionsSeen, HaveTheCalleesThatDivideThem) {
    Profile profile;
    profile.add(7, {"main", "serve", "read"}, 30);
    profile.add(7, {"main", "serve", "price"}, 70);
    profile.wait_for_events(7, {"main"}, 50);
    EXPECT_EQ(profile.seen().at(0).callees,
              (std::vector<SeenCallee>{{"price", 700}, {"read", 300}}));
}

TEST(SeenFunctions, CalleesAreBounded) {
    std::string lines = "> 5 before\n100 0 serve\n";
    for (int i = 0; i < 7; ++i) lines += "> " + std::to_string(1000 - i) + " c\n";
    const auto seen = seen_functions_of(lines);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].callees.size(), max_dividing_callees);
    EXPECT_EQ(seen[0].callees[0].share_permille, 1000U);
    EXPECT_EQ(seen_functions_of("1000 1 x").at(0), (SeenFunction{"x", 1000, true, {}}));
}

TEST(FunctionOffers, NeedAProcessAndItsFile) {
    const std::vector<SeenFunction> seen{{"buy", 500, false, {}}};
    AddTarget target{"/no/such/shop", "/no/such/shop", "", {}};
    EXPECT_THAT(function_offers(target, seen), IsEmpty());
    target.processes.push_back({7, "shop", {}, {}});
    EXPECT_THAT(function_offers(target, {}), IsEmpty());
    EXPECT_THAT(function_offers(target, seen), IsEmpty());
}

}  // namespace
}  // namespace lagtrap::cli::add_functions_test
