// Translates filters to SQL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/store/filter.hpp"
#include "server/store/labels.hpp"
#include "server/store/sight.hpp"

namespace lagtrap::server {

// A sight whose patterns are replaced by the numbers of matching labels.
struct NumberedSight {
    std::vector<std::uint64_t> events, units;

    // "(r.event IN (1,2) OR r.unit IN (3))" for rows of `table`.
    [[nodiscard]] std::string condition(const std::string& table) const;
    [[nodiscard]] bool sees_event(std::uint32_t event) const;
};

// A filter whose names are numbers of labels.
struct NumberedFilter {
    std::optional<std::uint32_t> event;
    std::vector<std::uint32_t> host, user, build, process, unit;  // any one of them; empty: all
    std::optional<std::uint8_t> start;
    std::uint64_t from_ns = 0;
    std::uint64_t to_ns = INT64_MAX;
    bool with_dirty = false;
    bool only_dirty = false;
    bool without_outliers = false;
    bool from_given = false, to_given = false;
    std::optional<NumberedSight> sight;  // nullopt: no limit

    [[nodiscard]] bool shows(RunMark mark) const {
        if (only_dirty && mark != RunMark::Dirty) return false;
        return (mark != RunMark::Dirty || with_dirty) &&
               (mark != RunMark::Outlier || !without_outliers);
    }
    // Whether roll-ups suffice.
    [[nodiscard]] bool fits_rollups() const {
        return host.empty() && user.empty() && process.empty() && unit.empty() &&
               (!sight || sight->units.empty());
    }
};

// nullopt if nothing can match: the store has none of a filter's names, or the sight shows none of
// it.
[[nodiscard]] Result<std::optional<NumberedFilter>> number_filter(Connection& connection,
                                                                  Labels& labels,
                                                                  const Filter& filter,
                                                                  const Visibility& visibility);

// Whether one of a filter's names is a pattern.
[[nodiscard]] bool has_pattern(const std::vector<std::string>& names);

[[nodiscard]] Result<NumberedSight> number_sight(Connection& connection, const Sight& sight);
// "1,2,3" for an IN list.
[[nodiscard]] std::string id_list(const std::vector<std::uint64_t>& ids);

class Where;
// Excludes runs with marks that the filter does not show.
void add_mark_conditions(Where& where, const NumberedFilter& filter);

// Conditions joined by AND, with their parameters.
class Where {
  public:
    // `condition` contains a '?' for the value.
    void add(std::string_view condition, const Value& value);
    void add(std::string_view condition);
    // `column` must be one of the values; without values, anything matches.
    void add_any_of(std::string_view column, const std::vector<std::uint32_t>& numbers);
    void add_any_of(std::string_view column, const std::vector<std::string>& texts) {
        add_any_value_of(column, Values(texts.begin(), texts.end()));
    }
    // "$N" of a new parameter.
    [[nodiscard]] std::string parameter(const Value& value);
    [[nodiscard]] const std::string& sql() const { return sql_; }  // " WHERE ..." or empty
    [[nodiscard]] const Values& values() const { return values_; }

  private:
    void add_any_value_of(std::string_view column, const Values& values);

    std::string sql_;
    Values values_;
};

// For rows of `run r`. The bounds on ids let PostgreSQL skip the partitions of other days.
void add_run_conditions(Where& where, const NumberedFilter& filter);
// For rows of `delay x`.
void add_delay_conditions(Where& where, const NumberedFilter& filter);

}  // namespace lagtrap::server
