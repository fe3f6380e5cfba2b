#include "tests/replay/readable_json.hpp"

#include <boost/json/serialize.hpp>

namespace lagtrap::test {
namespace {

namespace json = boost::json;

constexpr std::size_t line_limit = 120;

void write(std::string& text, const json::value& value, std::size_t indent, std::size_t taken);

// A part of an object or array on its own line; `name` includes the colon.
void write_part(std::string& text, const std::string& name, const json::value& value,
                std::size_t indent, bool last) {
    text += std::string(indent, ' ') + name;
    write(text, value, indent, indent + name.size() + 1);
    text += last ? "\n" : ",\n";
}

// `taken` characters of the value's first line are already used.
void write(std::string& text, const json::value& value, std::size_t indent, std::size_t taken) {
    const std::string whole = json::serialize(value);
    if (whole.size() + taken <= line_limit || (!value.is_object() && !value.is_array())) {
        text += whole;
        return;
    }
    const std::size_t inner = indent + 1;
    std::size_t left = value.is_object() ? value.get_object().size() : value.get_array().size();
    text += value.is_object() ? "{\n" : "[\n";
    if (value.is_object()) {
        for (const auto& [name, part] : value.get_object())
            write_part(text, json::serialize(json::string(name)) + ": ", part, inner, --left == 0);
    } else {
        for (const json::value& part : value.get_array())
            write_part(text, "", part, inner, --left == 0);
    }
    text += std::string(indent, ' ') + (value.is_object() ? "}" : "]");
}

}  // namespace

std::string readable_json(const json::value& value) {
    std::string text;
    write(text, value, 0, 0);
    return text + "\n";
}

}  // namespace lagtrap::test
