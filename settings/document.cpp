#include "settings/document.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "core/text.hpp"
#include "settings/schema_text.hpp"
#include "settings/values.hpp"
#include "settings/xml.hpp"

namespace lagtrap::settings {
namespace {

// Longer names are not compared with known ones.
constexpr std::size_t slip_bytes = 100;

std::string nearest(std::string_view wrong, const std::vector<std::string_view>& known) {
    return wrong.size() > slip_bytes ? std::string() : nearest_name(wrong, known);
}

bool is_name_of(const AttributeSpec& attribute, std::string_view name) {
    return name == attribute.name || (!name.empty() && name == attribute.earlier_name);
}

// "expected one of <a>, <b>"; `open` and `close` enclose each name.
std::string expected_names(const std::vector<std::string_view>& names, std::string_view open,
                           std::string_view close) {
    std::string list;
    for (const std::string_view name : names)
        list += fmt::format("{}{}{}{}", list.empty() ? "" : ", ", open, name, close);
    return (names.size() > 1 ? "expected one of " : "expected ") + list;
}

class DocumentReader {
  public:
    DocumentReader(const LineIndex& index, Diagnostics& diagnostics)
        : index_(index), diagnostics_(diagnostics) {}

    // `node` is an element of the vocabulary, which also bounds the recursion depth.
    Element read(const pugi::xml_node& node, const ElementSpec& spec) {
        Element element{&spec, index_.place_of(offset_of(node)), {}, {}};
        read_attributes(node, element);
        add_absent_attributes(element);
        std::vector<std::size_t> counts(spec.children.size());
        for (const pugi::xml_node& child : node.children()) read_child(child, element, counts);
        return element;
    }

    [[nodiscard]] std::size_t offset_of(const pugi::xml_node& element) const {
        return static_cast<std::size_t>(element.offset_debug() - 1);
    }

  private:
    void read_attributes(const pugi::xml_node& node, Element& element) {
        const auto tag = scan_start_tag(index_.text(), offset_of(node));
        auto raw = tag ? tag->attributes.begin() : std::vector<RawAttribute>::const_iterator{};
        for (const pugi::xml_attribute& attribute : node.attributes()) {
            if (!tag || raw == tag->attributes.end()) break;
            read_attribute(attribute, index_.place_of((raw++)->offset), element);
        }
    }

    void read_attribute(const pugi::xml_attribute& source, Place place, Element& element) {
        const std::string_view name = source.name();
        const auto specs = element.spec->attributes;
        const auto spec = std::find_if(specs.begin(), specs.end(),
                                       [&](const auto& known) { return is_name_of(known, name); });
        if (spec == specs.end()) return report_unknown_attribute(name, place, *element.spec);
        if (element.attribute(spec->name))
            return diagnostics_.add(
                place, fmt::format("{} is given twice in <{}>", name, element.spec->name),
                "expected once");
        Attribute attribute{&*spec, source.value(), 0, place, true, false};
        const auto problem = check_value(*spec, attribute.text, attribute.number);
        if (problem)
            diagnostics_.add(place, fmt::format("{} is {}", name, in_quotes(attribute.text)),
                             problem->allowed, problem->hint);
        attribute.valid = !problem;
        element.attributes.push_back(std::move(attribute));
    }

    void report_unknown_attribute(std::string_view name, Place place, const ElementSpec& spec) {
        if (diagnostics_.counted_alone()) return;
        std::vector<std::string_view> known;
        for (const AttributeSpec& attribute : spec.attributes) known.push_back(attribute.name);
        diagnostics_.add(place,
                         fmt::format("unknown attribute {} of <{}>", shortened(name), spec.name),
                         known.empty() ? "expected none" : expected_names(known, "", ""),
                         did_you_mean(nearest(name, known)));
    }

    void add_absent_attributes(Element& element) {
        for (const AttributeSpec& spec : element.spec->attributes) {
            if (element.attribute(spec.name)) continue;
            if (spec.presence == Presence::Required) {
                // If there is only one choice, name the value: version="1".
                const bool single = spec.kind == ValueKind::Choice &&
                                    spec.choices.find('|') == std::string_view::npos;
                diagnostics_.add(element.place,
                                 fmt::format("<{}> has no {}", element.spec->name, spec.name),
                                 single ? fmt::format("expected {}=\"{}\"", spec.name, spec.choices)
                                        : fmt::format("expected {}=\"...\" with {}", spec.name,
                                                      describe_values(spec)));
            } else if (!spec.default_text.empty()) {
                Attribute attribute{&spec, std::string(spec.default_text), 0, element.place, false,
                                    true};
                attribute.valid = !check_value(spec, attribute.text, attribute.number);
                element.attributes.push_back(std::move(attribute));
            }
        }
    }

    void read_child(const pugi::xml_node& node, Element& element,
                    std::vector<std::size_t>& counts) {
        if (node.type() != pugi::node_element) return report_text(node, *element.spec);
        const auto children = element.spec->children;
        const std::string_view name = node.name();
        const auto spec =
            std::find_if(children.begin(), children.end(),
                         [&](const ChildSpec& known) { return known.element->name == name; });
        if (spec == children.end()) return report_unknown_child(node, *element.spec);
        const std::size_t count = ++counts[static_cast<std::size_t>(spec - children.begin())];
        if (count > spec->at_most) {
            if (count == spec->at_most + 1) report_surplus(node, *spec, element);
            return;
        }
        element.children.push_back(read(node, *spec->element));
    }

    void report_text(const pugi::xml_node& node, const ElementSpec& parent) {
        const std::size_t start = static_cast<std::size_t>(node.offset_debug());
        const std::size_t offset = index_.text().find_first_not_of(" \t\r\n", start);
        std::string_view text = node.value();
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
        text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
        diagnostics_.add(index_.place_of(offset),
                         fmt::format("the text {} in <{}>", in_quotes(text), parent.name),
                         "expected no text: settings are attributes");
    }

    void report_unknown_child(const pugi::xml_node& node, const ElementSpec& parent) {
        if (diagnostics_.counted_alone()) return;
        std::vector<std::string_view> known;
        for (const ChildSpec& child : parent.children) known.push_back(child.element->name);
        const std::string_view name = node.name();
        const std::string parents = name.size() > slip_bytes ? std::string() : parents_of(name);
        std::string near = nearest(name, known);
        if (!near.empty()) near = "<" + near + ">";
        diagnostics_.add(index_.place_of(offset_of(node)),
                         fmt::format("{} <{}> in <{}>",
                                     parents.empty() ? "unknown element" : "misplaced element",
                                     shortened(name), parent.name),
                         known.empty() ? "expected no element" : expected_names(known, "<", ">"),
                         parents.empty() ? did_you_mean(near)
                                         : fmt::format("<{}> belongs in {}", name, parents));
    }

    void report_surplus(const pugi::xml_node& node, const ChildSpec& spec, const Element& parent) {
        const std::string_view name = spec.element->name;
        const Place place = index_.place_of(offset_of(node));
        if (spec.at_most > 1)
            return diagnostics_.add(
                place, fmt::format("too many <{}> elements in <{}>", name, parent.spec->name),
                fmt::format("expected at most {}", spec.at_most));
        const Element* first = parent.child(name);
        diagnostics_.add(place, fmt::format("a second <{}> in <{}>", name, parent.spec->name),
                         "expected at most one",
                         first ? fmt::format("the first is at line {}", first->place.line) : "");
    }

    const LineIndex& index_;
    Diagnostics& diagnostics_;
};

}  // namespace

const Attribute* Element::attribute(std::string_view name) const {
    for (const Attribute& candidate : attributes)
        if (candidate.spec->name == name) return &candidate;
    return nullptr;
}

std::string_view Element::text_of(std::string_view name) const {
    const Attribute* found = attribute(name);
    return found ? std::string_view(found->text) : std::string_view();
}

std::uint64_t Element::number_of(std::string_view name) const {
    const Attribute* found = attribute(name);
    return found ? found->number : 0;
}

std::vector<const Element*> Element::children_of(std::string_view name) const {
    std::vector<const Element*> found;
    for (const Element& candidate : children)
        if (candidate.spec->name == name) found.push_back(&candidate);
    return found;
}

const Element* Element::child(std::string_view name) const {
    for (const Element& candidate : children)
        if (candidate.spec->name == name) return &candidate;
    return nullptr;
}

std::optional<Element> read_document(const LineIndex& index, Diagnostics& diagnostics,
                                     const ElementSpec& outermost) {
    pugi::xml_document document;
    if (!parse_xml(index, document, diagnostics)) return {};
    DocumentReader reader(index, diagnostics);
    const pugi::xml_node root = document.document_element();
    if (root.name() != outermost.name) {
        const bool preset = root.name() == preset_element().name;
        diagnostics.add(index.place_of(reader.offset_of(root)),
                        fmt::format("the root element is <{}>", shortened(root.name())),
                        fmt::format("expected <{} version=\"1\">", outermost.name),
                        preset ? "this is a preset: `lagtrap presets FILE` checks it, <use "
                                 "preset=\"...\"/> uses it"
                               : "");
        return {};
    }
    return reader.read(root, outermost);
}

}  // namespace lagtrap::settings
