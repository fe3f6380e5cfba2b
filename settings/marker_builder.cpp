#include "settings/marker_builder.hpp"

#include <utility>

#include <fmt/core.h>

#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

bool is_valid(const Element& element) {
    for (const Attribute& attribute : element.attributes)
        if (!attribute.valid) return false;
    for (const AttributeSpec& spec : element.spec->attributes)
        if (spec.presence == Presence::Required && !element.attribute(spec.name)) return false;
    return true;
}

bool is_valid(const Element& element, std::string_view name) {
    const Attribute* attribute = element.attribute(name);
    return attribute && attribute->valid;
}

bool set_name(const Attribute& name, Marker& marker) {
    marker.kind = name.spec->name == "usdt"       ? MarkerKind::Usdt
                  : name.spec->name == "function" ? MarkerKind::Function
                                                  : MarkerKind::Tracepoint;
    marker.name = name.text;
    if (marker.kind == MarkerKind::Function || !name.valid) return name.valid;
    const std::size_t colon = name.text.find(':');
    marker.provider = name.text.substr(0, colon);
    marker.name = name.text.substr(colon + 1);
    return true;
}

ArgumentRef field_of(const std::string& text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string::npos) return {0, text, {}};
    return {0, text.substr(0, comma), text.substr(comma + 1)};
}

}  // namespace

Place place_of(const Element& element, std::string_view name) {
    const Attribute* attribute = element.attribute(name);
    return attribute ? attribute->place : element.place;
}

void set_place(Marker& marker, Place place) {
    marker.line = place.line;
    marker.column = place.column;
}

Marker MarkerBuilder::function(const Element& function) {
    MarkerSource source;
    source.marker.kind = MarkerKind::Function;
    source.marker.name = function.text_of("name");
    const bool found = find_binary(function, source);
    set_place(source.marker, function.place);
    source.name_place = place_of(function, "name");
    source.each_call = true;
    if (found && is_valid(function)) sources_.markers.push_back(source);
    return source.marker;
}

Marker MarkerBuilder::library(const Element& library, const Element& place,
                              const std::string& point) {
    MarkerSource source;
    Marker& marker = source.marker;
    marker.kind = MarkerKind::Library;
    marker.provider = "lagtrap";
    marker.name = std::string(event_.text_of("name")) + "__" + point;
    const Attribute* const given = library.attribute("event");
    if (given) marker.name = given->text + "__" + point;
    const bool first = point == "begin";  // so that a missing binary is reported once
    const bool found = first ? find_binary(library, source) : inherit_binary(library, source);
    set_place(marker, place.place);
    source.name_place = place.place;
    if (const Element* key = event_.child("key")) {
        marker.key = ArgumentRef{0, {}, {}};
        source.key_place = key->place;
    }
    if (first) {
        source.begin_time = ArgumentRef{1, {}, {}};
        source.begin_time_place = place.place;
    }
    if (found && is_valid(event_, "name") && is_valid(place)) sources_.markers.push_back(source);
    return marker;
}

MarkerSource MarkerBuilder::marker(const Element& element) {
    MarkerSource source;
    Marker& marker = source.marker;
    set_place(marker, element.place);
    bool good = is_valid(element);
    const Attribute* name = find_name(element);
    if (!name) return source;
    source.name_place = name->place;
    good = set_name(*name, marker) && good;
    if (element.text_of("side") == "return") marker.side = FunctionSide::Return;
    if (marker.kind != MarkerKind::Function && element.attribute("side")->given) {
        const Attribute* side = element.attribute("side");
        diagnostics_.add(side->place, fmt::format("side with {}", name->spec->name),
                         "expected side only with function");
    }
    if (marker.kind != MarkerKind::Tracepoint) {
        good = find_binary(element, source) && good;
    } else if (const Attribute* binary = element.attribute("binary")) {
        diagnostics_.add(binary->place, "binary with tracepoint",
                         "expected none: tracepoints belong to the kernel");
    }
    marker.key = argument(element, "key", marker, source.key_place);
    source.begin_time = argument(element, "begin-time", marker, source.begin_time_place);
    source.trace_id = argument(element, "trace-id", marker, source.trace_id_place);
    if (source.trace_id && marker.kind == MarkerKind::Tracepoint)
        diagnostics_.add(source.trace_id_place, "trace-id with tracepoint",
                         "expected usdt or function");
    if (good) sources_.markers.push_back(source);
    return source;
}

// The one attribute that names the marker. Reports an error and returns nullptr if there are
// none or several.
const Attribute* MarkerBuilder::find_name(const Element& element) {
    const Attribute* found = nullptr;
    for (const std::string_view kind : {"usdt", "function", "tracepoint"}) {
        const Attribute* attribute = element.attribute(kind);
        if (attribute && found) {
            diagnostics_.add(
                attribute->place,
                fmt::format("<{}> has {} and {}", element.spec->name, found->spec->name, kind),
                "expected one of usdt, function, tracepoint");
            return nullptr;
        }
        if (attribute) found = attribute;
    }
    if (!found)
        diagnostics_.add(element.place, fmt::format("<{}> names no marker", element.spec->name),
                         "expected usdt=\"PROVIDER:NAME\", function=\"NAME\" or "
                         "tracepoint=\"CATEGORY:NAME\"");
    return found;
}

// Sets the marker's own binary, or else the event's.
bool MarkerBuilder::inherit_binary(const Element& element, MarkerSource& source) {
    const Attribute* binary = element.attribute("binary");
    if (!binary) binary = event_.attribute("binary");
    if (!binary) return false;
    source.marker.binary = binary->text;
    source.binary_place = binary->place;
    return binary->valid;
}

bool MarkerBuilder::find_binary(const Element& element, MarkerSource& source) {
    const bool usable = inherit_binary(element, source);
    if (!usable && source.marker.binary.empty() && !element.attribute("binary") &&
        !event_.attribute("binary"))
        diagnostics_.add(element.place, fmt::format("<{}> has no binary", element.spec->name),
                         "expected binary=\"/PATH\" here, or in <event> for all its markers");
    return usable;
}

// The value that attribute `name` refers to; nullopt if the attribute is missing or invalid.
std::optional<ArgumentRef> MarkerBuilder::argument(const Element& element, std::string_view name,
                                                   const Marker& marker, Place& place) {
    const Attribute* attribute = element.attribute(name);
    if (!attribute) return {};
    place = attribute->place;
    if (!attribute->valid) return {};
    if (marker.kind == MarkerKind::Tracepoint) return field_of(attribute->text);
    const std::uint32_t count =
        marker.kind == MarkerKind::Usdt ? usdt_arguments : function_arguments;
    const auto index = argument_number(attribute->text);
    if (!index || *index >= count) {
        diagnostics_.add(place, fmt::format("{} is {}", name, in_quotes(attribute->text)),
                         fmt::format("expected arg0 to arg{} for a {}", count - 1,
                                     marker.kind == MarkerKind::Usdt ? "USDT probe" : "function"),
                         index ? "" : "field names are for tracepoints");
        return {};
    }
    if (marker.side == FunctionSide::Return) {
        diagnostics_.add(place, fmt::format("{} with side=\"return\"", name),
                         "expected none: a function's parameters are gone when it returns");
        return {};
    }
    return ArgumentRef{*index, {}, {}};
}

}  // namespace lagtrap::settings
