#include "settings/tracepoint_check.hpp"

#include <vector>

#include <fmt/core.h>

#include "core/text.hpp"

namespace lagtrap::settings {
namespace {

std::string full_name(const Marker& marker) { return marker.provider + ":" + marker.name; }

// The most similar name in its category, or else the same name in another category; empty if none
// is similar.
std::string nearest_tracepoint(const Marker& marker, const TraceFs& tracefs) {
    std::vector<std::string> near;
    for (const std::string& name : tracefs.names(marker.provider))
        near.push_back(marker.provider + ":" + name);
    if (near.empty())
        for (const std::string& category : tracefs.categories())
            near.push_back(category + ":" + marker.name);
    return nearest_name(full_name(marker), near);
}

std::vector<std::string> number_names(const std::vector<TracepointField>& fields) {
    std::vector<std::string> names;
    for (const TracepointField& field : fields)
        if (field.number) names.push_back(field.name);
    return names;
}

}  // namespace

void TracepointCheck::check(const MarkerSource& source) {
    if (!tracefs_) tracefs_ = open_();
    const Marker& marker = source.marker;
    if (!*tracefs_) return refuse(source.name_place, marker, tracefs_->error());
    const TraceFs& tracefs = **tracefs_;
    if (const auto id = tracefs.tracepoint_id(marker.provider, marker.name); !id)
        return id.error().kind == ErrorKind::NotFound
                   ? report_missing(source, tracefs)
                   : refuse(source.name_place, marker, id.error());
    check_fields(marker.key, "key", source.key_place, marker, tracefs);
    check_fields(source.begin_time, "begin-time", source.begin_time_place, marker, tracefs);
}

void TracepointCheck::refuse(Place place, const Marker& marker, const Error& error) {
    const std::string what = "tracepoint " + full_name(marker);
    if (root_may_know(error)) return diagnostics_.note(place, what, error);
    diagnostics_.add(place, fmt::format("{}: {}", shortened(what), printable(error.message)),
                     "expected a kernel with tracefs");
}

void TracepointCheck::report_missing(const MarkerSource& source, const TraceFs& tracefs) {
    const std::string near = nearest_tracepoint(source.marker, tracefs);
    const std::string list = "lagtrap list-markers --tracepoints lists all";
    diagnostics_.add(
        source.name_place,
        fmt::format("the kernel has no tracepoint {}", shortened(full_name(source.marker))),
        "expected one of its tracepoints",
        near.empty() ? list : fmt::format("{} ({})", did_you_mean(near), list));
}

void TracepointCheck::check_fields(const std::optional<ArgumentRef>& argument,
                                   const std::string& attribute, Place place, const Marker& marker,
                                   const TraceFs& tracefs) {
    if (!argument) return;
    check_field(argument->field, attribute, place, marker, tracefs);
    if (!argument->second_field.empty())
        check_field(argument->second_field, attribute, place, marker, tracefs);
}

void TracepointCheck::check_field(const std::string& field, const std::string& attribute,
                                  Place place, const Marker& marker, const TraceFs& tracefs) {
    if (tracefs.field(marker.provider, marker.name, field)) return;
    const auto fields = tracefs.fields(marker.provider, marker.name);
    if (!fields) return refuse(place, marker, fields.error());
    const std::vector<std::string> numbers = number_names(*fields);
    std::string list;
    for (const std::string& name : numbers) list += (list.empty() ? "" : ", ") + printable(name);
    diagnostics_.add(
        place,
        fmt::format("{} is {}, which is not a number in {}", attribute, in_quotes(field),
                    shortened(full_name(marker))),
        numbers.empty() ? fmt::format("expected no {}", attribute) : "expected one of " + list,
        did_you_mean(nearest_name(field, numbers)));
}

}  // namespace lagtrap::settings
