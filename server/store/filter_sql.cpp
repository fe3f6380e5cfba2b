#include "server/store/filter_sql.hpp"

#include <algorithm>

#include "server/store/database.hpp"

namespace lagtrap::server {
namespace {

void add_common_conditions(Where& where, const NumberedFilter& filter, const std::string& table) {
    if (filter.event) where.add(table + ".event = ?", *filter.event);
    if (filter.from_given) where.add(table + ".begin_ns >= ?", filter.from_ns);
    if (filter.to_given) where.add(table + ".begin_ns < ?", filter.to_ns);
    if (filter.host) where.add(table + ".host = ?", *filter.host);
    if (filter.user) where.add(table + ".account = ?", *filter.user);
    if (filter.build) where.add(table + ".build = ?", *filter.build);
    if (filter.process) where.add(table + ".process = ?", *filter.process);
    if (filter.unit) where.add(table + ".unit = ?", *filter.unit);
    if (filter.start) where.add(table + ".start = ?", *filter.start);
}

}  // namespace

Result<std::optional<NumberedFilter>> number_filter(Connection& connection, Labels& labels, const Filter& filter) {
    NumberedFilter numbered;
    numbered.with_dirty = filter.with_dirty;
    numbered.without_outliers = filter.without_outliers;
    numbered.from_given = filter.from_ns.has_value();
    numbered.to_given = filter.to_ns.has_value();
    numbered.from_ns = std::min<std::uint64_t>(filter.from_ns.value_or(0), INT64_MAX);
    numbered.to_ns = std::min<std::uint64_t>(filter.to_ns.value_or(INT64_MAX), INT64_MAX);
    if (filter.start) numbered.start = static_cast<std::uint8_t>(*filter.start);
    struct Name {
        LabelKind kind;
        const std::optional<std::string>& text;
        std::optional<std::uint32_t>& number;
    };
    for (const Name& name :
         {Name{LabelKind::Event, filter.event, numbered.event}, Name{LabelKind::Host, filter.host, numbered.host},
          Name{LabelKind::User, filter.user, numbered.user}, Name{LabelKind::Build, filter.build, numbered.build},
          Name{LabelKind::Process, filter.process, numbered.process},
          Name{LabelKind::Unit, filter.unit, numbered.unit}}) {
        if (!name.text) continue;
        TRY_ASSIGN(name.number, labels.find(connection, name.kind, *name.text));
        if (!name.number) return std::optional<NumberedFilter>();
    }
    return std::optional(numbered);
}

void add_mark_conditions(Where& where, const NumberedFilter& filter) {
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

std::string Where::parameter(const Value& value) {
    values_.push_back(value);
    return parameter_name(values_.size());
}

void add_run_conditions(Where& where, const NumberedFilter& filter) {
    add_common_conditions(where, filter, "r");
    if (filter.from_given) where.add("r.id >= ?", first_run_id_of_hour(filter.from_ns / hour_ns));
    if (filter.to_given) where.add("r.id < ?", first_run_id_of_hour(filter.to_ns / hour_ns + 1));
}

void add_delay_conditions(Where& where, const NumberedFilter& filter) { add_common_conditions(where, filter, "x"); }

}  // namespace lagtrap::server
