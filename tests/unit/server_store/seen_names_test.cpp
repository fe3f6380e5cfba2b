#include "server/store/seen_names.hpp"

#include <gtest/gtest.h>

#include "tests/unit/server_store/delays_fixture.hpp"

namespace lagtrap::server::seen_names_test {
namespace {

TEST(SeenNames, ASpanGrowsInBothDirections) {
    SeenNames seen;
    const SeenKey key{1, LabelKind::Host, 2}, other{1, LabelKind::User, 2};
    for (const std::uint64_t at_ns : {50, 30, 70, 40}) add_seen(seen, key, at_ns);
    add_seen(seen, other, 9);
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[key].first_ns, 30U);
    EXPECT_EQ(seen[key].last_ns, 70U);
    EXPECT_EQ(seen[other].first_ns, 9U);
    EXPECT_EQ(seen[other].last_ns, 9U);
}

class SeenRows : public DelaysStoreTest {
  protected:
    std::pair<std::uint64_t, std::uint64_t> span() {
        const Choices choices = must(everything().choices().of_event("open"));
        return {choices.from_realtime_ns, choices.to_realtime_ns};
    }
};

TEST_F(SeenRows, ARowIsExtendedAndNeverShortened) {
    add_bundle(1, {delay(1, monday + 5 * hour)});
    EXPECT_EQ(span(), std::pair(monday + 5 * hour, monday + 5 * hour + 1));
    add_bundle(2, {delay(1, monday + 4 * hour)});
    EXPECT_EQ(span(), std::pair(monday + 4 * hour, monday + 5 * hour + 1));
    add_bundle(3, {delay(1, monday + 9 * hour), delay(2, monday + 6 * hour)});
    EXPECT_EQ(span(), std::pair(monday + 4 * hour, monday + 9 * hour + 1));
    add_bundle(4, {delay(1, monday + 7 * hour)});
    EXPECT_EQ(span(), std::pair(monday + 4 * hour, monday + 9 * hour + 1));
}

TEST_F(SeenRows, RunsExtendItBackAtOnceAndForwardOnceAMinute) {
    const auto add_run = [&](std::uint64_t number, std::uint64_t begin_ns) {
        BatchMaker maker;
        maker.add(begin_ns, ms);
        add(number, maker.batch);
    };
    add_run(1, monday + hour);
    add_run(2, monday + hour - 1);
    EXPECT_TRUE(holds("(SELECT max(first_ns) FROM seen) = " + std::to_string(monday + hour - 1)));
    add_run(3, monday + hour + 60 * second - 1);
    EXPECT_TRUE(holds("(SELECT max(last_ns) FROM seen) = " + std::to_string(monday + hour)));
    add_run(4, monday + hour + 60 * second);
    EXPECT_TRUE(
        holds("(SELECT min(last_ns) FROM seen) = " + std::to_string(monday + hour + 60 * second)));
}

}  // namespace
}  // namespace lagtrap::server::seen_names_test
