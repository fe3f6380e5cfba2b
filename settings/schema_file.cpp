#include "settings/schema_file.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "settings/schema.hpp"

namespace lagtrap::settings {
namespace {

constexpr const char* about =
    "\n  The structure of settings files: elements, attributes, value formats. Rules that XML "
    "Schema 1.0 cannot express\n"
    "  (ranges of durations, one kind of markers per event, keys on all markers or none, what the "
    "machine has) are\n"
    "  checked by `lagtrap check FILE`.\n";

// Format of the values of a kind; an empty or zero member sets no limit.
struct Form {
    std::string pattern;
    unsigned min_length = 0, max_length = 0;
};

Form form_of(ValueKind kind) {
    const std::string number = R"(([0-9]+(\.[0-9]*)?|\.[0-9]+))";
    const std::string duration = number + "(ns|us|ms|s|min|h|d)";
    const std::string name = R"([A-Za-z_][A-Za-z0-9_\-]{0,62})";
    const std::string field = "[A-Za-z_][A-Za-z0-9_]{0,62}";
    switch (kind) {
        case ValueKind::Name: return {name};
        case ValueKind::AttributeNames:
            return {fmt::format(R"([!-~]{{1,64}}( +[!-~]{{1,64}}){{0,{}}})", attributes_limit - 1)};
        case ValueKind::Names: return {fmt::format("{0}( +{0})*", name)};
        case ValueKind::Text: return {"", 1, 1000};
        case ValueKind::Duration: return {duration};
        case ValueKind::Threshold:
            return {fmt::format(
                R"(({0})|auto|(p[0-9]{{2}}(\.[0-9]{{1,3}})? *x *[0-9]{{1,4}}(\.[0-9]{{1,2}})?))",
                duration)};
        case ValueKind::DurationRange: return {fmt::format(R"({0}(\.\.{0})?)", duration)};
        case ValueKind::ByteSize: return {number + "(B|KiB|MiB|GiB|TiB|kB|MB|GB)"};
        case ValueKind::Share: return {R"([0-9]{1,9}(\.[0-9]{1,3})?%)"};
        case ValueKind::Path: return {"/.*", 0, 4095};
        case ValueKind::Program:
            return {R"((\*?/.*)|(build-id:[0-9a-f]{16,40})|)"
                    R"((package:[a-z0-9+][a-z0-9+.\-]+(:[a-z0-9+.\-]*)?))",
                    0, 4096};
        case ValueKind::Pattern: return {"", 1, 512};
        case ValueKind::Label: return {"[^=]+=.*", 1, 512};
        case ValueKind::SocketPath: return {"/.*", 0, 107};
        case ValueKind::Url: return {"https?://[^/@]+(/[^?#]*)?"};
        case ValueKind::ProxyUrl: return {"(https?|socks5h?)://[^/@]+(/[^?#]*)?"};
        case ValueKind::Usdt: return {R"([A-Za-z0-9_$.\-]+:[A-Za-z0-9_$.\-]+)"};
        case ValueKind::Symbol: return {"", 1, 4096};
        case ValueKind::Expression: return {"", 1, 1024};
        case ValueKind::Tracepoint: return {R"([A-Za-z0-9_\-]+:[A-Za-z0-9_\-]+)"};
        case ValueKind::Argument: return {field};
        case ValueKind::Key: return {fmt::format("{0}(,{0})?", field)};
        case ValueKind::User:
        case ValueKind::Group: return {R"([^\-:/ ,][^:/ ,]{0,254})"};
        case ValueKind::Count:
        case ValueKind::Choice:
        case ValueKind::ChoiceList: break;  // add_type() handles these
    }
    return {};
}

pugi::xml_node add(pugi::xml_node& parent, const char* name, const char* attribute = nullptr,
                   const std::string& value = {}) {
    pugi::xml_node node = parent.append_child(name);
    if (attribute != nullptr) node.append_attribute(attribute).set_value(value.c_str());
    return node;
}

void add_facet(pugi::xml_node& restriction, const char* name, const std::string& value) {
    add(restriction, name, "value", value);
}

void add_meaning(pugi::xml_node& node, std::string_view meaning) {
    if (meaning.empty()) return;
    pugi::xml_node annotation = add(node, "xs:annotation");
    add(annotation, "xs:documentation").text().set(std::string(meaning).c_str());
}

void add_choices(pugi::xml_node& type, std::string_view choices) {
    pugi::xml_node restriction = add(type, "xs:restriction", "base", "xs:string");
    while (!choices.empty()) {
        const std::string_view one = choices.substr(0, choices.find('|'));
        add_facet(restriction, "xs:enumeration", std::string(one));
        choices.remove_prefix(std::min(choices.size(), one.size() + 1));
    }
}

void add_type(pugi::xml_node& owner, const AttributeSpec& attribute) {
    pugi::xml_node type = add(owner, "xs:simpleType");
    if (attribute.kind == ValueKind::Choice) return add_choices(type, attribute.choices);
    if (attribute.kind == ValueKind::ChoiceList) {
        pugi::xml_node list = add(type, "xs:list");
        pugi::xml_node item = add(list, "xs:simpleType");
        return add_choices(item, attribute.choices);
    }
    const Form form = form_of(attribute.kind);
    const bool is_count = attribute.kind == ValueKind::Count;
    pugi::xml_node restriction =
        add(type, "xs:restriction", "base", is_count ? "xs:nonNegativeInteger" : "xs:string");
    if (is_count) {
        add_facet(restriction, "xs:minInclusive", std::to_string(attribute.low));
        add_facet(restriction, "xs:maxInclusive", std::to_string(attribute.high));
    }
    if (form.min_length != 0)
        add_facet(restriction, "xs:minLength", std::to_string(form.min_length));
    if (form.max_length != 0)
        add_facet(restriction, "xs:maxLength", std::to_string(form.max_length));
    if (!form.pattern.empty()) add_facet(restriction, "xs:pattern", form.pattern);
}

void add_attribute(pugi::xml_node& owner, const AttributeSpec& attribute) {
    pugi::xml_node node = add(owner, "xs:attribute", "name", std::string(attribute.name));
    if (attribute.presence == Presence::Required)
        node.append_attribute("use").set_value("required");
    if (!attribute.default_text.empty())
        node.append_attribute("default").set_value(std::string(attribute.default_text).c_str());
    add_meaning(node, attribute.meaning);
    add_type(node, attribute);
}

bool is_named(const ElementSpec& element) {
    return std::any_of(
        element.attributes.begin(), element.attributes.end(), [](const AttributeSpec& attribute) {
            return attribute.name == "name" && attribute.presence == Presence::Required &&
                   attribute.kind == ValueKind::Name;
        });
}

void add_element(pugi::xml_node& parent, const ElementSpec& element, const std::string& path) {
    pugi::xml_node node = add(parent, "xs:element", "name", std::string(element.name));
    add_meaning(node, element.meaning);
    pugi::xml_node type = add(node, "xs:complexType");
    if (!element.children.empty()) {
        pugi::xml_node choice =
            add(type, "xs:choice", "minOccurs", element.needs_children ? "1" : "0");
        choice.append_attribute("maxOccurs").set_value("unbounded");
        for (const ChildSpec& child : element.children)
            add_element(choice, *child.element, fmt::format("{}-{}", path, child.element->name));
    }
    for (const AttributeSpec& attribute : element.attributes) add_attribute(type, attribute);
    for (const ChildSpec& child : element.children) {
        if (!is_named(*child.element) || child.at_most == 1) continue;
        pugi::xml_node unique =
            add(node, "xs:unique", "name", fmt::format("{}-{}-names", path, child.element->name));
        add(unique, "xs:selector", "xpath", std::string(child.element->name));
        add(unique, "xs:field", "xpath", "@name");
    }
}

}  // namespace

std::string settings_schema_file() {
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    declaration.append_attribute("version").set_value("1.0");
    declaration.append_attribute("encoding").set_value("UTF-8");
    document.append_child(pugi::node_comment).set_value(about);
    pugi::xml_node schema = document.append_child("xs:schema");
    schema.append_attribute("xmlns:xs").set_value("http://www.w3.org/2001/XMLSchema");
    schema.append_attribute("elementFormDefault").set_value("qualified");
    for (const ElementSpec* outermost : {&root_element(), &preset_element()})
        add_element(schema, *outermost, std::string(outermost->name));
    std::ostringstream text;
    document.save(text, "  ");
    return text.str();
}

}  // namespace lagtrap::settings
