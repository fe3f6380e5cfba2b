#include "daemon/capture/context_looks.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::context_looks_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t s = 1'000'000'000;

TEST(ContextLooksTest, BeginWithTheProcessOfTheDelay) {
    ContextLooks looks;
    EXPECT_THAT(looks.due({1, 2, 3}, 2, 0), ElementsAre(2, 1, 3));
    EXPECT_THAT(looks.due({1, 2, 3}, 0, 0), ElementsAre(1, 2, 3));
    EXPECT_THAT(looks.due({1, 2, 3}, 9, 0), ElementsAre(1, 2, 3)) << "it is gone";
}

TEST(ContextLooksTest, BecomeSeldomAtProcessesThatPublishNothing) {
    ContextLooks looks;
    std::uint64_t now_ns = 100 * s;
    for (const std::uint64_t pause_ns : {s, 2 * s, 4 * s}) {
        EXPECT_THAT(looks.due({1, 2}, 0, now_ns), ElementsAre(1, 2));
        looks.note(1, false, now_ns);
        looks.note(2, true, now_ns);
        EXPECT_THAT(looks.due({1, 2}, 0, now_ns + pause_ns - 1), ElementsAre(2));
        EXPECT_THAT(looks.due({1, 2}, 1, now_ns), ElementsAre(1, 2)) << "it may publish by now";
        now_ns += pause_ns;
    }
    for (int i = 0; i < 20; ++i) looks.note(1, false, now_ns);
    EXPECT_THAT(looks.due({1}, 0, now_ns + ContextLooks::longest_pause_ns - 1), IsEmpty());
    EXPECT_THAT(looks.due({1}, 0, now_ns + ContextLooks::longest_pause_ns), ElementsAre(1));
}

TEST(ContextLooksTest, BeginAnewAtAProcessThatPublishedOrEnded) {
    ContextLooks looks;
    looks.note(1, false, 0);
    looks.note(1, false, 0);
    looks.note(1, true, 0);
    looks.note(1, false, 0);
    EXPECT_THAT(looks.due({1}, 0, s), ElementsAre(1));
    EXPECT_THAT(looks.due({1}, 0, 0), IsEmpty());
    EXPECT_THAT(looks.due({2}, 0, 0), ElementsAre(2));
    EXPECT_THAT(looks.due({1}, 0, 0), ElementsAre(1)) << "another process of this number";
}

}  // namespace
}  // namespace lagtrap::daemon::context_looks_test
