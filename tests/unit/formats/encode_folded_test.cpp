#include <gtest/gtest.h>

#include "formats/encoders.hpp"
#include "tests/unit/formats/made_profile.hpp"

namespace lagtrap::formats::encode_folded_test {
namespace {

using test::made_profile;
using test::piece_of;
using test::thread_of;

TEST(FoldedStacks, AddUpBeforeTheyAreRounded) {
    StackProfile profile = made_profile({{.function = "main"}, {.function = "work"}});
    profile.threads = {
        thread_of(10, 11, "app", "worker",
                  {piece_of(0, 600, 2), piece_of(600, 999, 1), piece_of(2000, 1400, 2)}),
        // The same name: their stacks are alike.
        thread_of(10, 12, "app", "worker", {piece_of(0, 1000, 2), piece_of(1000, 1, 1)}),
        thread_of(10, 13, "app", "idle", {piece_of(0, 999, 1)})};
    EXPECT_EQ(encode_folded(profile),
              "app;worker;main 1\n"
              "app;worker;main;work 3\n");
}

TEST(FoldedStacks, CountWeights) {
    StackProfile profile = made_profile({{.function = "main"}});
    profile.threads = {thread_of(10, 11, "app", "worker", {piece_of(0, 9'000, 1)})};
    profile.threads[0].pieces[0].weight_ns = 7'000;
    EXPECT_EQ(encode_folded(profile), "app;worker;main 7\n");
}

TEST(FoldedStacks, KeepSemicolonsForTheirCalls) {
    StackProfile profile = made_profile({{.function = "a;b"}, {.function = "c;d", .kernel = true}});
    profile.threads = {thread_of(10, 11, "e;f", "g;h", {piece_of(0, 1'000, 2)})};
    EXPECT_EQ(encode_folded(profile), "e:f;g:h;a:b;c:d_[k] 1\n");
}

TEST(FoldedStacks, EndInTheStateOffACpu) {
    StackProfile profile =
        made_profile({{.function = "main"}, {.function = "blocked: disk", .state = true}});
    Piece piece = piece_of(0, 1'000, 2, analysis::TimeKind::Blocked);
    piece.stack = 1;
    profile.threads = {thread_of(10, 11, "app", "worker", {piece})};
    EXPECT_EQ(encode_folded(profile), "app;worker;main;blocked: disk 1\n");
}

}  // namespace
}  // namespace lagtrap::formats::encode_folded_test
