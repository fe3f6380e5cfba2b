#include "settings/threshold_rule.hpp"

#include <gtest/gtest.h>

namespace lagtrap::settings::threshold_rule_test {
namespace {

TEST(ThresholdRules, AutoIsThreeTimesThe999thPermille) {
    EXPECT_EQ(threshold_rule_of("auto"), (ThresholdRule{999'000, 300, std::nullopt}));
    EXPECT_EQ(threshold_rule_of("auto"), threshold_rule_of("p99.9 x 3"));
}

TEST(ThresholdRules, ArePercentileAndFactor) {
    EXPECT_EQ(threshold_rule_of("p50 x 1"), (ThresholdRule{500'000, 100, std::nullopt}));
    EXPECT_EQ(threshold_rule_of("p99.999x1000"), (ThresholdRule{999'990, 100'000, std::nullopt}));
    EXPECT_EQ(threshold_rule_of("p95  x  1.25"), (ThresholdRule{950'000, 125, std::nullopt}));
}

TEST(ThresholdRules, NothingElseIsOne) {
    for (const char* text : {"",         "Auto",       "auto ",      "p99",         "p99 x",
                             "p x 3",    "99 x 3",     "p49.9 x 3",  "p100 x 3",    "p99.99999 x 3",
                             "p99. x 3", "p99 x 0.99", "p99 x 1001", "p99 x 1.001", "p99 x -1",
                             "p99 x 3x", "p99 x 3ms",  "p9 9 x 3",   "50ms",        "x"})
        EXPECT_EQ(threshold_rule_of(text), std::nullopt) << text;
}

TEST(ThresholdRules, AreWrittenInOneForm) {
    for (const char* text : {"p99.9 x 3", "p50 x 1", "p99.999 x 1000", "p95 x 1.25", "p99 x 2.5"})
        EXPECT_EQ(threshold_rule_text(*threshold_rule_of(text)), text);
}

}  // namespace
}  // namespace lagtrap::settings::threshold_rule_test
