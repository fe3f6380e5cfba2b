#include "cli/status/threshold_text.hpp"

#include <boost/json.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::cli::threshold_text_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// An event of a status answer whose threshold has this reason.
boost::json::object event_of(const std::string& reason) {
    return {{"threshold_ns", 50'000'000},
            {"auto_threshold",
             {{"rule", "p99.9 of 7 days"},
              {"reason", reason},
              {"runs", 12'000},
              {"min_runs", 1'000},
              {"watched_seconds", 108'000.0},
              {"learn_seconds_left", 0.0},
              {"percentile_ns", 40'000'000},
              {"base_ns", 25'000'000},
              {"target_ns", 80'000'000},
              {"captures", 1},
              {"captures_per_day", 4}}}};
}

TEST(ThresholdText, AFixedThresholdHasNoSentence) {
    EXPECT_EQ(threshold_sentence({{"threshold_ns", 50'000'000}}), "");
    EXPECT_EQ(threshold_cell({{"threshold_ns", 50'000'000}}), "50.0 ms");
}

TEST(ThresholdText, SaysWhyItIsWhatItIs) {
    const std::string percentile = "p99.9 of 12,000 runs in 30 hours is 40.0 ms";
    const auto sentence = [](const std::string& reason) {
        return threshold_sentence(event_of(reason));
    };
    const std::string begin = "Its threshold (p99.9 of 7 days) is 50.0 ms: ";
    const std::string end = ". Its delays started 1 of at most 4 recordings in the last 24 h.";
    EXPECT_EQ(sentence("percentile"), begin + percentile + end);
    EXPECT_EQ(sentence("capture-rate"),
              begin + percentile +
                  ", but a smaller threshold would have been exceeded more than 4 times a day" +
                  end);
    EXPECT_EQ(sentence("floor"), begin + "its floor; " + percentile + end);
    EXPECT_EQ(sentence("longest"), begin + "the longest possible; " + percentile + end);
    EXPECT_EQ(sentence("raised"),
              begin + "delays raised it from 25.0 ms. It is halved after each quiet time" + end);
    EXPECT_EQ(sentence("step"),
              begin + "on its way to 80.0 ms, by at most a factor of 2 per hour" + end);
}

TEST(ThresholdText, SaysWhatIsMissingUntilTheFirst) {
    boost::json::object event = event_of("learning");
    EXPECT_TRUE(learns_threshold(event));
    EXPECT_EQ(threshold_cell(event), "learning");
    boost::json::object& threshold = event.at("auto_threshold").as_object();
    const std::string begin = "Its threshold (p99.9 of 7 days) is not known yet: ";
    threshold["runs"] = 999;
    EXPECT_THAT(threshold_sentence(event),
                StartsWith(begin + "999 of 1,000 runs. Until then only runs longer"));
    threshold["learn_seconds_left"] = 3 * 3600.0;
    EXPECT_THAT(threshold_sentence(event),
                StartsWith(begin + "999 of 1,000 runs, and 3 hours of watching left."));
    threshold["runs"] = 1'000;
    EXPECT_THAT(threshold_sentence(event), StartsWith(begin + "3 hours of watching left."));
    threshold["learn_seconds_left"] = 60.0;
    EXPECT_THAT(threshold_sentence(event), HasSubstr(": 1 minute of watching left."));
    threshold["learn_seconds_left"] = 2 * 86'400.0;
    EXPECT_THAT(threshold_sentence(event), HasSubstr(": 2 days of watching left."));
}

}  // namespace
}  // namespace lagtrap::cli::threshold_text_test
