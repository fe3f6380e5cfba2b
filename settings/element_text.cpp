#include "settings/element_text.hpp"

#include <fmt/core.h>

namespace lagtrap::settings {

std::string attribute_text(std::string_view value) {
    std::string text;
    for (const char c : value) {
        switch (c) {
            case '&': text += "&amp;"; break;
            case '<': text += "&lt;"; break;
            case '>': text += "&gt;"; break;
            case '"': text += "&quot;"; break;
            default: text += c;
        }
    }
    return text;
}

std::string element_text(const Element& element, std::size_t indent) {
    constexpr std::size_t columns = 80;
    const std::string margin(indent, ' ');
    std::string text = margin + "<" + std::string(element.spec->name);
    std::size_t width = text.size();
    for (const AttributeSpec& spec : element.spec->attributes) {  // in the order of the reference
        const Attribute* attribute = element.attribute(spec.name);
        if (!attribute || attribute->text == spec.default_text) continue;
        const std::string one =
            fmt::format("{}=\"{}\"", spec.name, attribute_text(attribute->text));
        const bool fits = width + 1 + one.size() + 2 <= columns;
        const std::string gap =
            fits ? " " : "\n" + std::string(indent + element.spec->name.size() + 2, ' ');
        width = fits ? width + 1 + one.size() : gap.size() - 1 + one.size();
        text += gap + one;
    }
    if (element.children.empty()) return text + "/>\n";
    text += ">\n";
    for (const Element& child : element.children) text += element_text(child, indent + 2);
    return text + fmt::format("{}</{}>\n", margin, element.spec->name);
}

}  // namespace lagtrap::settings
