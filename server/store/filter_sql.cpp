#include "server/store/filter_sql.hpp"

#include <algorithm>
#include <functional>

#include "server/store/database.hpp"

namespace lagtrap::server {
namespace {

void add_common_conditions(Where& where, const NumberedFilter& filter, const std::string& table) {
    if (filter.event) where.add(table + ".event = ?", *filter.event);
    if (filter.from_given) where.add(table + ".begin_ns >= ?", filter.from_ns);
    if (filter.to_given) where.add(table + ".begin_ns < ?", filter.to_ns);
    where.add_any_of(table + ".host", filter.host);
    where.add_any_of(table + ".account", filter.user);
    where.add_any_of(table + ".build", filter.build);
    where.add_any_of(table + ".process", filter.process);
    where.add_any_of(table + ".unit", filter.unit);
    if (filter.start) where.add(table + ".start = ?", *filter.start);
    if (filter.sight) where.add(filter.sight->condition(table));
}

Result<std::vector<std::uint64_t>> labels_that(Connection& connection, LabelKind kind,
                                               const std::function<bool(std::string_view)>& fit) {
    std::vector<std::uint64_t> numbers;
    TRY_ASSIGN(const auto rows,
               connection.query("SELECT id, text FROM label WHERE kind = $1", {kind}));
    for (;;) {
        TRY_ASSIGN(const bool more, rows->next());
        if (!more) return numbers;
        if (fit(rows->bytes(1))) numbers.push_back(rows->natural(0));
    }
}

bool is_pattern(std::string_view name) { return name.find('*') != std::string_view::npos; }

Status add_labels_of(Connection& connection, Labels& labels, LabelKind kind,
                     const std::vector<std::string>& names, std::vector<std::uint32_t>& numbers) {
    std::vector<std::string> patterns;
    for (const std::string& name : names) {
        if (is_pattern(name)) {
            patterns.push_back(name);
            continue;
        }
        TRY_ASSIGN(const auto number, labels.find(connection, kind, name));
        if (number) numbers.push_back(*number);
    }
    if (patterns.empty()) return success();
    TRY_ASSIGN(const auto matching, labels_that(connection, kind, [&](std::string_view text) {
                   return std::any_of(
                       patterns.begin(), patterns.end(),
                       [&](const std::string& pattern) { return fits_pattern(pattern, text); });
               }));
    for (const std::uint64_t number : matching)
        numbers.push_back(static_cast<std::uint32_t>(number));
    return success();
}

}  // namespace

bool has_pattern(const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), is_pattern);
}

std::string id_list(const std::vector<std::uint64_t>& ids) {
    std::string text;
    for (const std::uint64_t id : ids) {
        // No row has such an id, and a number beyond the column's type would keep the database from
        // using the index.
        if (id > INT64_MAX) continue;
        if (!text.empty()) text += ',';
        text += std::to_string(id);
    }
    return text.empty() ? "NULL" : text;
}

std::string NumberedSight::condition(const std::string& table) const {
    return "(" + table + ".event IN (" + id_list(events) + ") OR " + table + ".unit IN (" +
           id_list(units) + "))";
}

bool NumberedSight::sees_event(std::uint32_t event) const {
    return std::find(events.begin(), events.end(), event) != events.end();
}

Result<NumberedSight> number_sight(Connection& connection, const Sight& sight) {
    NumberedSight numbered;
    if (!sight.events.empty()) {
        TRY_ASSIGN(numbered.events,
                   labels_that(connection, LabelKind::Event,
                               [&](std::string_view text) { return sight.sees_event(text); }));
    }
    if (!sight.units.empty()) {
        TRY_ASSIGN(numbered.units,
                   labels_that(connection, LabelKind::Unit,
                               [&](std::string_view text) { return sight.sees_unit(text); }));
    }
    return numbered;
}

Result<std::optional<NumberedFilter>> number_filter(Connection& connection, Labels& labels,
                                                    const Filter& filter,
                                                    const Visibility& visibility) {
    NumberedFilter numbered;
    numbered.with_dirty = filter.with_dirty;
    numbered.only_dirty = filter.only_dirty;
    numbered.without_outliers = filter.without_outliers;
    numbered.from_given = filter.from_ns.has_value();
    numbered.to_given = filter.to_ns.has_value();
    numbered.from_ns = std::min<std::uint64_t>(filter.from_ns.value_or(0), INT64_MAX);
    numbered.to_ns = std::min<std::uint64_t>(filter.to_ns.value_or(INT64_MAX), INT64_MAX);
    if (filter.start) numbered.start = static_cast<std::uint8_t>(*filter.start);
    if (filter.event) {
        TRY_ASSIGN(numbered.event, labels.find(connection, LabelKind::Event, *filter.event));
        if (!numbered.event) return std::optional<NumberedFilter>();
    }
    struct Names {
        LabelKind kind;
        const std::vector<std::string>& texts;
        std::vector<std::uint32_t>& numbers;
    };
    for (const Names& names : {Names{LabelKind::Host, filter.host, numbered.host},
                               Names{LabelKind::User, filter.user, numbered.user},
                               Names{LabelKind::Build, filter.build, numbered.build},
                               Names{LabelKind::Process, filter.process, numbered.process},
                               Names{LabelKind::Unit, filter.unit, numbered.unit}}) {
        TRY(add_labels_of(connection, labels, names.kind, names.texts, names.numbers));
        if (!names.texts.empty() && names.numbers.empty()) return std::optional<NumberedFilter>();
    }
    const Sight* sight = visibility.sight();
    if (sight == nullptr) return std::optional(numbered);
    // If the whole event is visible, all its runs are, so roll-ups suffice.
    if (filter.event && sight->sees_event(stored_text(*filter.event)))
        return std::optional(numbered);
    if (filter.event && sight->units.empty()) return std::optional<NumberedFilter>();
    TRY_ASSIGN(numbered.sight, number_sight(connection, *sight));
    if (numbered.sight->events.empty() && numbered.sight->units.empty())
        return std::optional<NumberedFilter>();
    return std::optional(numbered);
}

void add_mark_conditions(Where& where, const NumberedFilter& filter) {
    if (filter.only_dirty) return where.add("r.dirty = 1");
    if (!filter.with_dirty && filter.without_outliers) return where.add("r.dirty = 0");
    if (!filter.with_dirty) where.add("r.dirty <> 1");
    if (filter.without_outliers) where.add("r.dirty <> 2");
}

void Where::add(std::string_view condition) {
    sql_ += sql_.empty() ? " WHERE " : " AND ";
    sql_ += condition;
}

void Where::add(std::string_view condition, const Value& value) {
    std::string text(condition);
    text.replace(text.find('?'), 1, parameter(value));
    add(text);
}

void Where::add_any_value_of(std::string_view column, const Values& values) {
    if (values.empty()) return;
    if (values.size() == 1) return add(std::string(column) + " = ?", values.front());
    std::string list;
    for (const Value& value : values) list += (list.empty() ? "" : ", ") + parameter(value);
    add(std::string(column) + " IN (" + list + ")");
}

void Where::add_any_of(std::string_view column, const std::vector<std::uint32_t>& numbers) {
    // Databases allow some ten thousand parameters, and a pattern can match more names.
    constexpr std::size_t parameters_limit = 100;
    if (numbers.size() <= parameters_limit)
        return add_any_value_of(column, Values(numbers.begin(), numbers.end()));
    add(std::string(column) + " IN (" + id_list({numbers.begin(), numbers.end()}) + ")");
}

std::string Where::parameter(const Value& value) {
    values_.push_back(value);
    return parameter_name(values_.size());
}

void add_run_conditions(Where& where, const NumberedFilter& filter) {
    add_common_conditions(where, filter, "r");
    if (filter.from_given) where.add("r.id >= ?", first_run_id_of_hour(filter.from_ns / hour_ns));
    if (filter.to_given) where.add("r.id < ?", first_run_id_of_hour(filter.to_ns / hour_ns + 1));
}

void add_delay_conditions(Where& where, const NumberedFilter& filter) {
    add_common_conditions(where, filter, "x");
}

}  // namespace lagtrap::server
