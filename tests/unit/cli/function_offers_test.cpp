// Offers for functions of this test program, which it reads as it would any other.
#include <unistd.h>

#include <filesystem>

#include <gmock/gmock.h>

#include "cli/add/add_offers.hpp"

namespace lagtrap::cli::function_offers_test {

// Watchable functions with names that no other has.
[[gnu::noinline]] int offered_request(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}
[[gnu::noinline]] int offered_callee(int value) {
    asm volatile("" : "+r"(value));
    return value + 2;
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string scope = "lagtrap::cli::function_offers_test::";

AddTarget own() {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    AddTarget target{program, "/usr/bin/shop", "", {}};
    target.processes.push_back({static_cast<std::uint32_t>(::getpid()), "shop", {}, {}});
    return target;
}

TEST(FunctionOffers, AreOfFunctionsThatCanBeWatched) {
    EXPECT_EQ(offered_request(1) + offered_callee(1), 5);
    const auto offers =
        function_offers(own(), {{"no_such_function", 900, false, {}},
                                {scope + "offered_request(int)",
                                 734,
                                 false,
                                 {{"no_such_function", 200}, {scope + "offered_callee(int)", 100}}},
                                {scope + "offered_callee", 100, true, {}}});
    ASSERT_EQ(offers.size(), 2U);
    EXPECT_EQ(offers[0].kind, OfferKind::Function);
    EXPECT_EQ(offers[0].title, "function " + scope + "offered_request(int)");
    EXPECT_EQ(offers[0].about, "On the stack for 73 % of the program's CPU time.");
    EXPECT_EQ(offers[0].binary, "/usr/bin/shop");
    EXPECT_FALSE(offers[0].waits_for_events);
    ASSERT_EQ(offers[0].events.size(), 1U);
    EXPECT_EQ(offers[0].events[0].name, "shop-offered_request");
    EXPECT_THAT(offers[0].events[0].element,
                AllOf(HasSubstr("    <function name=\""), HasSubstr("offered_request")));
    ASSERT_EQ(offers[0].stages.size(), 1U);
    EXPECT_EQ(offers[0].stages[0].name, "offered_callee");
    EXPECT_EQ(offers[1].about,
              "On the stack for 10 % of the program's CPU time. It mostly waits for events.");
    EXPECT_TRUE(offers[1].waits_for_events);
}

TEST(FunctionOffers, AreAtMost24) {
    const std::vector<SeenFunction> many(30, {scope + "offered_request(int)", 10, false, {}});
    EXPECT_EQ(function_offers(own(), many).size(), 24U);
}

}  // namespace
}  // namespace lagtrap::cli::function_offers_test
