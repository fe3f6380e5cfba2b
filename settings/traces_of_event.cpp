#include "settings/traces_of_event.hpp"

#include <iterator>
#include <utility>

#include <boost/json.hpp>
#include <fmt/core.h>

namespace lagtrap::settings {
namespace {

// Standing tracing needs to know the event's processes before any run is slow.
void check_standing(const Element& functions, const Event& event, Diagnostics& diagnostics) {
    const Attribute* const standing = functions.attribute("standing");
    if (!event.functions->standing) {
        const Attribute* const window = functions.attribute("window");
        if (standing->valid && window->given)
            diagnostics.add(window->place, "window in <functions> without standing",
                            "expected no window, or standing=\"yes\"",
                            "without it, functions are traced only after a breach");
        return;
    }
    if (event.begin.kind == MarkerKind::Tracepoint || event.begin.kind == MarkerKind::RunQueue)
        diagnostics.add(
            standing->place,
            fmt::format("standing <functions> in {}, which begins in the kernel", text_of(event)),
            "expected an event that begins in a program, or standing=\"no\"",
            "its processes are unknown until a run is slow");
    if (!event.scope.groups.empty())
        diagnostics.add(
            standing->place,
            fmt::format("standing <functions> in {}, whose <scope> names units or containers",
                        text_of(event)),
            "expected a <scope> with only pid, user and binary, or standing=\"no\"");
}

}  // namespace

std::string text_of(const Event& event) {
    return event.name.empty() ? std::string("the event") : "event " + in_quotes(event.name);
}

void build_functions(const Element& functions, Event& event, Diagnostics& diagnostics) {
    TracedFunctions& traced = event.functions.emplace();
    traced.standing = functions.text_of("standing") == "yes";
    traced.window =
        std::chrono::nanoseconds(static_cast<std::int64_t>(functions.number_of("window")));
    traced.include = functions.text_of("include");
    traced.exclude = functions.text_of("exclude");
    traced.least = std::chrono::nanoseconds(static_cast<std::int64_t>(functions.number_of("min")));
    traced.bytes_per_second = functions.number_of("rate");
    traced.share_ppm = functions.number_of("share");
    check_standing(functions, event, diagnostics);
}

void build_object(const Element& object, Event& event, Diagnostics& diagnostics) {
    const auto refuse = [&](const Error& error) {
        diagnostics.add(object.place,
                        fmt::format("<object> in {}: {}", text_of(event), error.message),
                        "expected a preset, a class, or functions that create and release",
                        "`lagtrap objects --list-presets` lists presets");
    };
    boost::json::object attributes;
    for (const Attribute& one : object.attributes) {
        if (one.given && !one.valid) return;
        if (one.given) attributes[one.spec->name] = one.text;
    }
    if (attributes.contains("preset")) {
        auto rules =
            attributes.size() == 1
                ? calls::object_preset(object.text_of("preset"))
                : Result<std::vector<calls::ObjectRule>>(make_error(
                      ErrorKind::Invalid, "preset cannot be combined with other attributes"));
        if (!rules) return refuse(rules.error());
        std::move(rules->begin(), rules->end(), std::back_inserter(event.objects));
        return;
    }
    if (!attributes.contains("name"))
        attributes["name"] =
            attributes.contains("class") ? attributes["class"] : boost::json::value("object");
    auto rule = calls::parse_object_rule(attributes);
    if (!rule) return refuse(rule.error());
    event.objects.push_back(std::move(*rule));
}

}  // namespace lagtrap::settings
