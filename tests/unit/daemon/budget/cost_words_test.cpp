#include "daemon/budget/cost_words.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::cost_words_test {
namespace {

using settings::BudgetPart;

constexpr std::uint64_t elapsed_ns = 1'000'000'000;
constexpr std::uint64_t cpu_percent = elapsed_ns / 100;
constexpr std::uint64_t share_ppm = 20'000;

class CostWordsTest : public testing::Test {
  protected:
    CostWordsTest() {
        use_.elapsed_ns = elapsed_ns;
        use_.events.resize(2);
        use_.events[1].hits = 500;
    }
    [[nodiscard]] std::string of_event(BudgetPart kind, std::uint64_t others_ns) const {
        return CostWords(use_, share_ppm)
            .of_event(1, kind, 3 * cpu_percent, 3 * cpu_percent + others_ns);
    }

    WatchUse use_;
};

TEST_F(CostWordsTest, NameThePartOfAnEvent) {
    EXPECT_EQ(of_event(BudgetPart::Events, 0),
              "its markers took 3 % of a CPU with 500 hits per second; the limit is 2 %");
    EXPECT_EQ(of_event(BudgetPart::Events, cpu_percent),
              "its markers took 3 % of a CPU with 500 hits per second, other events 1 %; the limit "
              "is 2 %");
    EXPECT_EQ(of_event(BudgetPart::Stages, cpu_percent),
              "the markers of its stages took 3 % of a CPU with 500 hits per second, other markers "
              "1 %; the limit is 2 %");
    EXPECT_EQ(of_event(BudgetPart::Stacks, cpu_percent),
              "stacks at its markers took 3 % of a CPU with 500 hits per second, other stacks and "
              "markers 1 %; the limit is 2 %");
}

TEST_F(CostWordsTest, SayWhatTheDaemonTakes) {
    use_.own_cpu_ns = cpu_percent;
    EXPECT_EQ(of_event(BudgetPart::Events, 0),
              "its markers took 3 % of a CPU with 500 hits per second, lagtrapd itself 1 %; the "
              "limit is 2 %");
    use_.own_cpu_ns = 4 * cpu_percent;
    EXPECT_EQ(of_event(BudgetPart::Events, 0),
              "its markers took 3 % of a CPU with 500 hits per second, lagtrapd itself 4 % "
              "(counted as 1 %); the limit is 2 %");
}

TEST_F(CostWordsTest, NameTheLimitOfAnythingElse) {
    const CostWords words(use_, share_ppm);
    PartyUse party;
    party.paired_ns = 5 * cpu_percent;
    EXPECT_EQ(words.of_party(party), "it took 5 % of a CPU at its markers; the limit is 2 %");
    party.who.pid = 77;
    EXPECT_EQ(words.of_party(party), "it alone took 5 % of a CPU at its markers; the limit is 2 %");
    EXPECT_EQ(words.of_whole(4 * cpu_percent, 12 * cpu_percent),
              "it took 4 % of a CPU, watching 12 % in total; the limit is 2 %");
    EXPECT_EQ(words.of_counts(cpu_percent, 3 * cpu_percent),
              "counting its begins took 1 % of a CPU, watching 3 % in total; the limit is 2 %");
    EXPECT_EQ(words.of_counts_instead(cpu_percent), "; counting its begins alone would take 1 %");
}

}  // namespace
}  // namespace lagtrap::daemon::cost_words_test
