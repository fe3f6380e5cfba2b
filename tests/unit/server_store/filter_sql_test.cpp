#include "server/store/filter_sql.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/store/database.hpp"

namespace lagtrap::server::filter_sql_test {
namespace {

using testing::ElementsAre;

std::string marks_of(const NumberedFilter& filter) {
    Where where;
    add_mark_conditions(where, filter);
    return where.sql();
}

std::vector<std::int64_t> integers(const Where& where) {
    std::vector<std::int64_t> found;
    for (const Value& value : where.values()) found.push_back(value.integer());
    return found;
}

TEST(FilterSql, ConditionsAreJoinedAndParametersNumbered) {
    Where where;
    EXPECT_EQ(where.sql(), "");
    where.add("a = ?", 5);
    where.add("b");
    where.add("c < ?", 7);
    EXPECT_EQ(where.parameter(9), "$3");
    EXPECT_EQ(where.sql(), " WHERE a = $1 AND b AND c < $2");
    EXPECT_THAT(integers(where), ElementsAre(5, 7, 9));
}

TEST(FilterSql, AnyOfSeveralValues) {
    Where where;
    where.add_any_of("a", std::vector<std::uint32_t>());
    EXPECT_EQ(where.sql(), "");
    where.add_any_of("a", std::vector<std::uint32_t>{4});
    where.add_any_of("b", std::vector<std::string>{"x", "y"});
    EXPECT_EQ(where.sql(), " WHERE a = $1 AND b IN ($2, $3)");
    EXPECT_EQ(where.values()[1].text(), "x");
    EXPECT_EQ(where.values()[2].text(), "y");
}

TEST(FilterSql, BeyondAHundredNumbersTheyAreNoParameters) {
    std::vector<std::uint32_t> numbers(100, 8);
    Where some, many;
    some.add_any_of("a", numbers);
    EXPECT_EQ(some.values().size(), 100U);
    numbers.push_back(9);
    many.add_any_of("a", numbers);
    EXPECT_TRUE(many.values().empty());
    EXPECT_TRUE(many.sql().starts_with(" WHERE a IN (8,8,"));
    EXPECT_TRUE(many.sql().ends_with(",8,9)"));
}

TEST(FilterSql, ListsOfIdsLeaveOutThoseThatNoRowHas) {
    EXPECT_EQ(id_list({}), "NULL");
    EXPECT_EQ(id_list({3}), "3");
    EXPECT_EQ(id_list({3, UINT64_MAX, 1}), "3,1");
    EXPECT_EQ(id_list({INT64_MAX}), "9223372036854775807");
    EXPECT_EQ(id_list({static_cast<std::uint64_t>(INT64_MAX) + 1}), "NULL");
}

TEST(FilterSql, APatternHasAStar) {
    EXPECT_FALSE(has_pattern({}));
    EXPECT_FALSE(has_pattern({"a", "b?"}));
    EXPECT_TRUE(has_pattern({"a", "b*c"}));
}

TEST(FilterSql, ASightIsOfEventsOrUnits) {
    const NumberedSight sight{{1, 2}, {3}};
    EXPECT_EQ(sight.condition("r"), "(r.event IN (1,2) OR r.unit IN (3))");
    EXPECT_EQ(NumberedSight{}.condition("x"), "(x.event IN (NULL) OR x.unit IN (NULL))");
    EXPECT_TRUE(sight.sees_event(2));
    EXPECT_FALSE(sight.sees_event(3));
}

TEST(FilterSql, MarksThatAreShown) {
    struct Case {
        bool with_dirty, only_dirty, without_outliers;
        std::string sql;
        bool none, dirty, outlier;
    };
    for (const Case& one : {Case{false, false, false, " WHERE r.dirty <> 1", true, false, true},
                            Case{true, false, false, "", true, true, true},
                            Case{false, false, true, " WHERE r.dirty = 0", true, false, false},
                            Case{true, false, true, " WHERE r.dirty <> 2", true, true, false},
                            Case{true, true, false, " WHERE r.dirty = 1", false, true, false},
                            Case{true, true, true, " WHERE r.dirty = 1", false, true, false}}) {
        NumberedFilter filter;
        filter.with_dirty = one.with_dirty;
        filter.only_dirty = one.only_dirty;
        filter.without_outliers = one.without_outliers;
        EXPECT_EQ(marks_of(filter), one.sql);
        EXPECT_EQ(filter.shows(RunMark::None), one.none) << one.sql;
        EXPECT_EQ(filter.shows(RunMark::Dirty), one.dirty) << one.sql;
        EXPECT_EQ(filter.shows(RunMark::Outlier), one.outlier) << one.sql;
    }
}

TEST(FilterSql, RollUpsHaveEventsBuildsAndStartsOnly) {
    NumberedFilter plain;
    plain.event = 1;
    plain.build = {2};
    plain.start = 1;
    plain.from_given = true;
    plain.sight = NumberedSight{{1}, {}};
    EXPECT_TRUE(plain.fits_rollups());
    for (const auto& change : std::vector<std::function<void(NumberedFilter&)>>{
             [](NumberedFilter& f) { f.host = {1}; }, [](NumberedFilter& f) { f.user = {1}; },
             [](NumberedFilter& f) { f.process = {1}; }, [](NumberedFilter& f) { f.unit = {1}; },
             [](NumberedFilter& f) { f.sight->units = {1}; }}) {
        NumberedFilter filter = plain;
        change(filter);
        EXPECT_FALSE(filter.fits_rollups());
    }
}

TEST(FilterSql, EachMemberLimitsItsColumn) {
    NumberedFilter filter;
    Where nothing;
    add_run_conditions(nothing, filter);
    EXPECT_EQ(nothing.sql(), "");
    filter.event = 1;
    filter.from_given = filter.to_given = true;
    filter.from_ns = 5 * hour_ns + 1;
    filter.to_ns = 7 * hour_ns;
    filter.host = {2};
    filter.user = {3};
    filter.build = {4};
    filter.process = {5};
    filter.unit = {6};
    filter.start = 7;
    filter.sight = NumberedSight{{8}, {9}};
    Where delays, runs;
    add_delay_conditions(delays, filter);
    EXPECT_EQ(delays.sql(),
              " WHERE x.event = $1 AND x.begin_ns >= $2 AND x.begin_ns < $3 AND x.host = $4 AND "
              "x.account = $5 AND x.build = $6 AND x.process = $7 AND x.unit = $8 AND x.start = $9 "
              "AND (x.event IN (8) OR x.unit IN (9))");
    const auto from_ns = static_cast<std::int64_t>(5 * hour_ns + 1),
               to_ns = static_cast<std::int64_t>(7 * hour_ns);
    EXPECT_THAT(integers(delays), ElementsAre(1, from_ns, to_ns, 2, 3, 4, 5, 6, 7));
    add_run_conditions(runs, filter);
    EXPECT_TRUE(runs.sql().starts_with(" WHERE r.event = $1 AND r.begin_ns >= $2"));
    EXPECT_TRUE(runs.sql().ends_with(" AND r.id >= $10 AND r.id < $11"));
    EXPECT_EQ(integers(runs).at(9), static_cast<std::int64_t>(first_run_id_of_hour(5)));
    EXPECT_EQ(integers(runs).at(10), static_cast<std::int64_t>(first_run_id_of_hour(8)));
}

TEST(FilterSql, NoRunIsInAnHourAfterTheLast) {
    EXPECT_EQ(first_run_id_of_hour(0), 0U);
    EXPECT_EQ(first_run_id_of_hour(1), 1ULL << 43);
    EXPECT_EQ(first_run_id_of_hour(last_hour), last_hour << 43);
    EXPECT_EQ(first_run_id_of_hour(last_hour + 1), static_cast<std::uint64_t>(INT64_MAX));
}

}  // namespace
}  // namespace lagtrap::server::filter_sql_test
