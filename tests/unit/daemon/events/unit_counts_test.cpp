#include "daemon/events/unit_counts.hpp"

#include <gmock/gmock.h>

namespace lagtrap::daemon::unit_counts_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(UnitCounts, CountProcessesOfEachUnitAndThoseWithout) {
    EXPECT_THAT(
        count_by_unit({1, 2, 3, 4},
                      {{1, "a.service"}, {2, "b.service"}, {3, "a.service"}, {9, "c.service"}}),
        ElementsAre(Pair("", 1), Pair("a.service", 2), Pair("b.service", 1)));
}

TEST(UnitCounts, AddUpTheSmallestBeyondTheLimit) {
    std::set<std::uint32_t> pids;
    std::map<std::uint32_t, std::string> units;
    std::uint32_t pid = 0;
    const auto add = [&](const std::string& unit, std::size_t processes) {
        for (std::size_t i = 0; i < processes; ++i) {
            pids.insert(++pid);
            units[pid] = unit;
        }
    };
    for (std::size_t i = 0; i < counted_units_limit; ++i) add("large" + std::to_string(i), 5);
    add("small", 1);
    EXPECT_EQ(count_by_unit(pids, units).count("small"), 1U)
        << "one more has the place of the others";
    add("smaller still", 2);
    const auto counts = count_by_unit(pids, units);
    EXPECT_EQ(counts.size(), counted_units_limit + 1);
    EXPECT_EQ(counts.at("other"), 3U);
    EXPECT_EQ(counts.at("large0"), 5U);
}

}  // namespace
}  // namespace lagtrap::daemon::unit_counts_test
