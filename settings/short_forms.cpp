#include "settings/short_forms.hpp"

#include <algorithm>
#include <string>

#include <fmt/core.h>

namespace lagtrap::settings {
namespace {

const ElementSpec* child_spec(const ElementSpec& parent, std::string_view name) {
    for (const ChildSpec& child : parent.children)
        if (child.element->name == name) return child.element;
    return nullptr;
}

// Adds the default where the short form has none.
void complete(Element& element) {
    for (const AttributeSpec& spec : element.spec->attributes)
        if (!spec.default_text.empty() && element.attribute(spec.name) == nullptr)
            element.attributes.push_back(
                {&spec, std::string(spec.default_text), 0, element.place, false, true});
}

const AttributeSpec* attribute_spec(const ElementSpec& element, std::string_view name) {
    const auto found = std::find_if(element.attributes.begin(), element.attributes.end(),
                                    [&](const AttributeSpec& spec) { return spec.name == name; });
    return found == element.attributes.end() ? nullptr : &*found;
}

// The <begin> or <end> of <usdt>. Its probe is that of PROVIDER:NAME with the ending.
Element marker_of(const Element& pair, const ElementSpec& spec) {
    Element marker{&spec, pair.place, {}, {}};
    const Attribute* const name = pair.attribute("name");
    const Attribute* const provider = pair.attribute("provider");
    const Attribute* const ending = pair.attribute(spec.name);
    const bool valid =
        name && provider && ending && name->valid && provider->valid && ending->valid;
    const std::string probe =
        valid ? fmt::format("{}:{}__{}", provider->text, name->text, ending->text) : std::string();
    marker.attributes.push_back(
        {attribute_spec(spec, "usdt"), probe, 0, name ? name->place : pair.place, true, valid});
    for (const std::string_view same : {"binary", "key"}) {
        const Attribute* const given = pair.attribute(same);
        if (given == nullptr) continue;
        marker.attributes.push_back(*given);
        marker.attributes.back().spec = attribute_spec(spec, same);
    }
    complete(marker);
    return marker;
}

}  // namespace

Element with_long_forms(const Element& event, Diagnostics& diagnostics) {
    Element expanded = event;
    expanded.children.clear();
    const Element* const pair = event.child("usdt");
    for (const std::string_view point : {"begin", "end"})
        if (pair) expanded.children.push_back(marker_of(*pair, *child_spec(*event.spec, point)));
    for (const Element& child : event.children) {
        const std::string_view name = child.spec->name;
        const bool ends_normally = name == "end" && child.text_of("as") == "done";
        const bool excludes_pair = name == "begin" || ends_normally || name == "function" ||
                                   name == "library" || name == "header" || name == "run-queue";
        if (pair && excludes_pair) {
            diagnostics.add(child.place, fmt::format("<{}> and <usdt> in one event", name),
                            "expected <usdt>, which has both markers, or <begin> and <end>");
            continue;
        }
        if (name == "usdt") continue;
        if (name == "header" && event.child("library")) {
            diagnostics.add(child.place, "<header> and <library> in one event",
                            "expected one of them: they mean the same");
        } else {
            expanded.children.push_back(child);
            if (name == "header")
                expanded.children.back().spec = child_spec(*event.spec, "library");
        }
    }
    return expanded;
}

}  // namespace lagtrap::settings
