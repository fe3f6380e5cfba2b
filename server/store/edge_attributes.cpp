#include "server/store/edge_attributes.hpp"

#include <algorithm>

#include "server/store/labels.hpp"

namespace lagtrap::server {

std::string text_of_attributes(const std::vector<EdgeAttribute>& attributes) {
    std::string text;
    for (const EdgeAttribute& one : attributes)
        text += stored_text(one.name) + "\t" + stored_text(one.value) + "\n";
    return text;
}

std::vector<EdgeAttribute> attributes_of_text(std::string_view text) {
    std::vector<EdgeAttribute> attributes;
    for (const std::string& line : lines_of(text))
        if (const std::size_t tab = line.find('\t'); tab != std::string::npos)
            attributes.push_back({line.substr(0, tab), line.substr(tab + 1)});
    return attributes;
}

std::string attribute_value(const std::vector<EdgeAttribute>& attributes, std::string_view name) {
    const auto found = std::find_if(attributes.begin(), attributes.end(),
                                    [&](const EdgeAttribute& one) { return one.name == name; });
    return found == attributes.end() ? std::string() : found->value;
}

}  // namespace lagtrap::server
