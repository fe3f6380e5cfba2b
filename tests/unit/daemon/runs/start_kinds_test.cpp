#include "daemon/runs/start_kinds.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::start_kinds_test {
namespace {

using namespace std::chrono_literals;
using trace::StartKind;

constexpr std::uint64_t s = 1'000'000'000;

StartFacts run(std::uint64_t process, std::uint64_t started_s, std::uint64_t begin_s) {
    return {process, started_s * s, begin_s * s, begin_s * s + s / 10, "/bin/a", 1};
}

const settings::ColdRule no_rule;
const settings::ColdRule first{.first_of_process = true, .after = {}};
const settings::ColdRule after_10s{.first_of_process = false, .after = 10s};
const settings::ColdRule both{.first_of_process = true, .after = 10s};

TEST(StartKinds, AreUnknownWithoutARule) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", no_rule, run(1, 200, 300)), StartKind::Unknown);
    EXPECT_EQ(kinds.decide("a", no_rule, run(1, 200, 301)), StartKind::Unknown);
}

TEST(StartKinds, TheFirstRunOfAProcessIsCold) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 300)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 301)), StartKind::Warm);
    EXPECT_EQ(kinds.decide("a", first, run(2, 250, 302)), StartKind::Cold) << "another process";
    EXPECT_EQ(kinds.decide("b", first, run(1, 200, 303)), StartKind::Cold) << "another event";
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 99999)), StartKind::Warm);
}

TEST(StartKinds, OfAProcessThatWasThereBeforeNobodyKnows) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", first, run(1, 99, 300)), StartKind::Unknown);
    EXPECT_EQ(kinds.decide("a", first, run(1, 99, 301)), StartKind::Warm);
    EXPECT_EQ(kinds.decide("a", first, run(2, 0, 302)), StartKind::Unknown)
        << "its start is not known";
    EXPECT_EQ(kinds.decide("a", first, run(3, 100, 303)), StartKind::Cold)
        << "it started with the watch";
}

TEST(StartKinds, ARunThatStandsForOthersIsNotTheFirst) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    StartFacts many = run(1, 200, 300);
    many.weight = 5;
    EXPECT_EQ(kinds.decide("a", first, many), StartKind::Unknown);
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 301)), StartKind::Warm);
}

TEST(StartKinds, AProgramGetsColdWithTime) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", after_10s, run(1, 90, 105)), StartKind::Unknown)
        << "5 s of watching";
    EXPECT_EQ(kinds.decide("a", after_10s, run(2, 90, 106)), StartKind::Warm);
    EXPECT_EQ(kinds.decide("a", after_10s, run(3, 90, 116)), StartKind::Warm)
        << "9.9 s after the last";
    EXPECT_EQ(kinds.decide("a", after_10s, run(4, 90, 127)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("a", after_10s, run(5, 90, 128)), StartKind::Warm);
    StartFacts other = run(6, 90, 129);
    other.program = "/bin/b";
    EXPECT_EQ(kinds.decide("a", after_10s, other), StartKind::Cold)
        << "nobody ran it since the watch began";
}

TEST(StartKinds, EitherRuleMakesItCold) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", both, run(1, 200, 300)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("a", both, run(1, 200, 301)), StartKind::Warm);
    EXPECT_EQ(kinds.decide("a", both, run(2, 250, 302)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("a", both, run(2, 250, 320)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("a", both, run(3, 50, 321)), StartKind::Unknown);
}

TEST(StartKinds, ForgetsOldProcessesAndThenDoesNotGuess) {
    StartKinds kinds;
    kinds.watch({"a", "b"}, 100 * s);
    for (std::uint64_t i = 0; i < 70'000; ++i)
        (void)kinds.decide("a", first, run(i + 1, 200, 300 + i));
    EXPECT_EQ(kinds.decide("a", first, run(70'000, 200, 80'000)), StartKind::Warm)
        << "a late one is kept";
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 80'001)), StartKind::Unknown)
        << "an early one is forgotten";
}

TEST(StartKinds, AnEventThatIsNewHasNoHistoryAndOthersKeepTheirs) {
    StartKinds kinds;
    kinds.watch({"a"}, 100 * s);
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 300)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("b", first, run(1, 200, 300)), StartKind::Unknown)
        << "nobody watches it";
    kinds.watch({"a", "b"}, 400 * s);
    EXPECT_EQ(kinds.decide("a", first, run(1, 200, 401)), StartKind::Warm);
    EXPECT_EQ(kinds.decide("a", first, run(2, 300, 402)), StartKind::Cold);
    EXPECT_EQ(kinds.decide("b", first, run(2, 300, 402)), StartKind::Unknown);
    EXPECT_EQ(kinds.decide("b", first, run(3, 500, 501)), StartKind::Cold);
}

}  // namespace
}  // namespace lagtrap::daemon::start_kinds_test
