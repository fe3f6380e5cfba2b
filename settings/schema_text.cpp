#include "settings/schema_text.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "settings/schema_units.hpp"

namespace lagtrap::settings {
namespace {

using enum ValueKind;
using enum Presence;
using namespace units;

// Writes the duration as a whole number of its largest possible unit: "1h", "100us".
std::string whole_duration(std::uint64_t nanoseconds) {
    if (nanoseconds == 0) return "0s";
    if (nanoseconds % day == 0) return fmt::format("{}d", nanoseconds / day);
    if (nanoseconds % hour == 0) return fmt::format("{}h", nanoseconds / hour);
    if (nanoseconds % (60 * s) == 0) return fmt::format("{}min", nanoseconds / (60 * s));
    if (nanoseconds % s == 0) return fmt::format("{}s", nanoseconds / s);
    if (nanoseconds % ms == 0) return fmt::format("{}ms", nanoseconds / ms);
    return fmt::format("{}us", nanoseconds / us);
}

std::string whole_byte_size(std::uint64_t bytes) {
    if (bytes == 0) return "0B";
    if (bytes % (mebibyte * mebibyte) == 0)
        return fmt::format("{}TiB", bytes / (mebibyte * mebibyte));
    if (bytes % (1024 * mebibyte) == 0) return fmt::format("{}GiB", bytes / (1024 * mebibyte));
    if (bytes % mebibyte != 0) return fmt::format("{}KiB", bytes / kibibyte);
    return fmt::format("{}MiB", bytes / mebibyte);
}

std::string listed(std::string_view choices) {
    std::string list;
    for (const char c : choices) list += c == '|' ? std::string(", ") : std::string(1, c);
    return list.find(',') == std::string::npos ? list : "one of " + list;
}

// Wraps `text` at spaces to at most 80 columns; each line gets the indent.
std::string wrapped(std::string_view text, std::size_t indent) {
    std::string output;
    std::string line;
    const auto flush = [&] {
        if (!line.empty()) output += std::string(indent, ' ') + line + "\n";
        line.clear();
    };
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (!line.empty() && indent + line.size() + 1 + word.size() > 80) flush();
        if (!line.empty()) line += ' ';
        line += word;
    }
    flush();
    return output;
}

std::string occurrence(std::size_t at_most) {
    return at_most == 1 ? "at most once" : fmt::format("up to {} times", at_most);
}

void describe_element(const ElementSpec& element, std::string_view parent, std::size_t at_most,
                      std::string& output) {
    output += parent.empty()
                  ? fmt::format("<{}>, the root element\n", element.name)
                  : fmt::format("\n<{}> in <{}>, {}\n", element.name, parent, occurrence(at_most));
    if (!parent.empty()) output += wrapped(element.meaning, 2);
    for (const AttributeSpec& attribute : element.attributes) {
        std::string facts = fmt::format("{}: {}", attribute.name, describe_values(attribute));
        if (attribute.presence == Required) facts += "; required";
        if (!attribute.default_text.empty())
            facts += fmt::format("; default {}", attribute.default_text);
        output += wrapped(facts, 4) + wrapped(attribute.meaning, 8);
    }
    for (const ChildSpec& child : element.children)
        describe_element(*child.element, element.name, child.at_most, output);
}

}  // namespace

std::string describe_values(const AttributeSpec& attribute) {
    switch (attribute.kind) {
        case Name: return "1 to 63 letters, digits, _ and -, not beginning with a digit or -";
        case Names: return "names separated by spaces, each once";
        case AttributeNames:
            return fmt::format(
                "none, or up to {} names such as http.route, separated by spaces, each once",
                attributes_limit);
        case Text: return "one line of text, 1 to 1000 bytes";
        case Choice: return listed(attribute.choices);
        case Duration:
            return fmt::format("a duration from {} to {}", whole_duration(attribute.low),
                               whole_duration(attribute.high));
        case Threshold:
            return fmt::format(
                "a duration from {} to {}, auto, or a percentile and a factor such as p99.9 x 3",
                whole_duration(attribute.low), whole_duration(attribute.high));
        case DurationRange:
            return fmt::format("a duration from {} to {}, or a range such as 4s..20s",
                               whole_duration(attribute.low), whole_duration(attribute.high));
        case ByteSize:
            return fmt::format("a size from {} to {}", whole_byte_size(attribute.low),
                               whole_byte_size(attribute.high));
        case Share:
            return fmt::format("a share from {}% to {}%", attribute.low / 10'000.0,
                               attribute.high / 10'000.0);
        case ChoiceList: return "one or more, each once, of " + listed(attribute.choices).substr(7);
        case Count:
            return fmt::format("a whole number from {} to {}", attribute.low, attribute.high);
        case Path: return "an absolute path";
        case Program:
            return "an absolute path, a path pattern such as */redis-server, build-id: and "
                   "hexadecimal digits, or package: and a Debian package name";
        case Pattern: return "1 to 512 bytes of text; * matches any characters, ? one";
        case Label: return "KEY=VALUE; in the value, * matches any characters, ? one";
        case SocketPath: return "an absolute path of at most 107 bytes";
        case Url: return "an address such as https://lagtrap.example:8443";
        case ProxyUrl:
            return "an address such as http://proxy.example:3128 or socks5h://proxy.example";
        case Usdt: return "a USDT probe as PROVIDER:NAME";
        case Symbol: return "a function name";
        case Expression: return "a regular expression of 1 to 1024 bytes";
        case Tracepoint: return "a tracepoint as CATEGORY:NAME";
        case Argument: return "argN or a field name";
        case Key: return "argN, a field name, or two field names separated by a comma";
        case User: return "a user name or id";
        case Group: return "a group name";
    }
    return {};
}

std::string settings_reference() {
    std::string output;
    describe_element(root_element(), "", 1, output);
    output += "\n";
    describe_element(preset_element(), "", 1, output);
    output +=
        "\nDurations are a number and a unit: ns, us, ms, s, min, h, d. Sizes are a number\n"
        "and a unit: B, KiB, MiB, GiB, TiB, kB, MB, GB.\n";
    return output;
}

}  // namespace lagtrap::settings
