#include "settings/marker_text.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "core/text.hpp"
#include "settings/element_text.hpp"
#include "settings/values.hpp"

namespace lagtrap::settings {
namespace {

// Escapes the value for use between double quotes; nullopt if the settings would refuse it.
std::optional<std::string> attribute_value(ValueKind kind, std::string_view value) {
    const AttributeSpec attribute{"", kind, Presence::Required, "", "", 0, 0, ""};
    std::uint64_t number = 0;
    if (printable(value) != value || check_value(attribute, value, number)) return std::nullopt;
    return attribute_text(value);
}

bool names_an_end(std::string_view name) {
    constexpr std::array<std::string_view, 6> ends = {"__end",  "__done", "__return",
                                                      "__exit", "__stop", "__finish"};
    return name.starts_with("sys_exit_") ||
           std::any_of(ends.begin(), ends.end(),
                       [&](std::string_view end) { return name.ends_with(end); });
}

std::string_view element_of(std::string_view marker_name) {
    return names_an_end(marker_name) ? "end" : "begin";
}

}  // namespace

std::optional<std::string> function_element(std::string_view name, std::string_view binary) {
    const auto symbol = attribute_value(ValueKind::Symbol, name),
               path = attribute_value(ValueKind::Path, binary);
    if (!symbol || !path) return std::nullopt;
    return fmt::format("<function name=\"{}\" binary=\"{}\"/>", *symbol, *path);
}

std::optional<std::string> usdt_element(std::string_view provider, std::string_view name,
                                        std::string_view binary) {
    const auto probe = attribute_value(ValueKind::Usdt, fmt::format("{}:{}", provider, name));
    const auto path = attribute_value(ValueKind::Path, binary);
    if (!probe || !path) return std::nullopt;
    return fmt::format("<{} usdt=\"{}\" binary=\"{}\"/>", element_of(name), *probe, *path);
}

std::optional<std::string> tracepoint_element(std::string_view category, std::string_view name) {
    const auto tracepoint =
        attribute_value(ValueKind::Tracepoint, fmt::format("{}:{}", category, name));
    if (!tracepoint) return std::nullopt;
    return fmt::format("<{} tracepoint=\"{}\"/>", element_of(name), *tracepoint);
}

std::string xml_comment(std::string_view text) {
    std::string safe;
    for (const char c : printable(text)) {
        if (c == '-' && safe.ends_with('-')) safe += ' ';
        safe += c;
    }
    return fmt::format("<!-- {} -->", safe);
}

}  // namespace lagtrap::settings
