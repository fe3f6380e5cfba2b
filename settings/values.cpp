#include "settings/values.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include <boost/regex.hpp>
#include <fmt/format.h>

#include "core/duration.hpp"
#include "core/text.hpp"
#include "settings/diagnostics.hpp"
#include "settings/package_files.hpp"
#include "settings/program_name.hpp"
#include "settings/schema_text.hpp"
#include "settings/threshold_rule.hpp"
#include "settings/url.hpp"

namespace lagtrap::settings {
namespace {

constexpr std::size_t path_bytes_limit = 4095;   // PATH_MAX without its final NUL
constexpr std::size_t socket_bytes_limit = 107;  // sun_path without its final NUL
constexpr std::size_t build_id_least_digits = 16, build_id_most_digits = 40;
constexpr std::size_t pattern_bytes_limit = 512;
constexpr std::size_t symbol_bytes_limit = 4096;
constexpr std::size_t expression_bytes_limit = 1024;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool all_of(std::string_view text, std::string_view others) {
    return std::all_of(text.begin(), text.end(), [&](char c) {
        return is_letter(c) || is_digit(c) || others.find(c) != std::string_view::npos;
    });
}

bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= 63 && (is_letter(text[0]) || text[0] == '_') &&
           all_of(text, "_-");
}

constexpr std::size_t line_bytes_limit = 1000;

ValueProblem problem(const AttributeSpec& attribute, std::string hint = {}) {
    return {"expected " + describe_values(attribute), std::move(hint)};
}

std::vector<std::string> split_choices(std::string_view choices) {
    std::vector<std::string> names;
    while (!choices.empty()) {
        const std::string_view name = choices.substr(0, choices.find('|'));
        names.emplace_back(name);
        choices.remove_prefix(std::min(choices.size(), name.size() + 1));
    }
    return names;
}

using Problem = std::optional<ValueProblem>;

Problem check_choice(const AttributeSpec& attribute, std::string_view text) {
    const std::vector<std::string> names = split_choices(attribute.choices);
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    const bool may_be_slip = names.size() > 1 && !text.empty() && text.size() < 100;
    return problem(attribute, may_be_slip ? did_you_mean(nearest_name(text, names)) : "");
}

// Well-formed numbers that are too large for their parser, which rejects very long ones without
// saying why.
bool is_too_large(std::string_view text, const Error& error) {
    const auto digits = std::find_if_not(text.begin(), text.end(), is_digit) - text.begin();
    return digits > 300 || error.message.starts_with("is too large");
}

template <typename Quantity>
Problem check_range(const AttributeSpec& attribute, const Result<Quantity>& parsed,
                    std::string_view example, std::string_view text, std::uint64_t& number,
                    std::uint64_t value) {
    if (!parsed && !is_too_large(text, parsed.error()))
        return ValueProblem{fmt::format("expected {}", example),
                            "the value " + parsed.error().message};
    if (!parsed || value < attribute.low || value > attribute.high) return problem(attribute);
    number = value;
    return {};
}

Problem check_duration(const AttributeSpec& attribute, std::string_view text,
                       std::uint64_t& number) {
    const auto parsed = parse_duration(text);
    return check_range(attribute, parsed, "a duration such as 250ms or 2s", text, number,
                       parsed ? static_cast<std::uint64_t>(parsed->count()) : 0);
}

// Both sides of "4s..20s".
std::optional<std::pair<std::string_view, std::string_view>> split_range(std::string_view text) {
    const auto dots = text.find("..");
    if (dots == std::string_view::npos) return {};
    return std::pair(text.substr(0, dots), text.substr(dots + 2));
}

Problem check_duration_range(const AttributeSpec& attribute, std::string_view text,
                             std::uint64_t& number) {
    const auto sides = split_range(text);
    if (!sides) return check_duration(attribute, text, number);
    std::uint64_t shortest = 0;
    std::uint64_t longest = 0;
    if (auto wrong = check_duration(attribute, sides->first, shortest)) return wrong;
    if (auto wrong = check_duration(attribute, sides->second, longest)) return wrong;
    if (longest < shortest) return problem(attribute, "put the shorter one first");
    number = shortest;
    return {};
}

Problem check_threshold(const AttributeSpec& attribute, std::string_view text,
                        std::uint64_t& number) {
    if (threshold_rule_of(text)) {
        number = attribute.high;
        return {};
    }
    if (text.starts_with('p'))
        return problem(attribute,
                       "the percentile is from p50 to p99.999, the factor from 1 to 1000");
    if (text.size() < 100 && !nearest_name(text, std::vector<std::string>{"auto"}).empty())
        return problem(attribute, did_you_mean("auto"));
    return check_duration(attribute, text, number);
}

Problem check_byte_size(const AttributeSpec& attribute, std::string_view text,
                        std::uint64_t& number) {
    const auto parsed = parse_byte_size(text);
    return check_range(attribute, parsed, "a size such as 512MiB or 2GiB", text, number,
                       parsed ? *parsed : 0);
}

Problem check_count(const AttributeSpec& attribute, std::string_view text, std::uint64_t& number) {
    std::uint64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc{} || rest != end || value < attribute.low || value > attribute.high)
        return problem(attribute);
    number = value;
    return {};
}

// Millionths of "12.5%". At most nine digits before the point and three after it.
std::optional<std::uint64_t> millionths_of(std::string_view text) {
    if (!text.ends_with('%')) return {};
    text.remove_suffix(1);
    const std::string_view whole = text.substr(0, text.find('.'));
    std::string_view fraction = text.substr(whole.size());
    if (!fraction.empty()) fraction.remove_prefix(1);
    if (whole.empty() || whole.size() > 9 || fraction.size() > 3 ||
        (fraction.empty() && text.ends_with('.')))
        return {};
    const std::string digits =
        std::string(whole) + std::string(fraction) + std::string(4 - fraction.size(), '0');
    std::uint64_t value = 0;
    const auto [rest, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failure != std::errc{} || rest != digits.data() + digits.size()) return {};
    return value;
}

Problem check_share(const AttributeSpec& attribute, std::string_view text, std::uint64_t& number) {
    const auto value = millionths_of(text);
    if (!value || *value < attribute.low || *value > attribute.high)
        return problem(attribute, text.ends_with('%') ? "" : "write a share with a % sign");
    number = *value;
    return {};
}

Problem twice_in(const AttributeSpec& attribute, std::vector<std::string> given) {
    std::sort(given.begin(), given.end());
    const auto twice = std::adjacent_find(given.begin(), given.end());
    return twice == given.end() ? Problem{} : problem(attribute, *twice + " is listed twice");
}

Problem check_choice_list(const AttributeSpec& attribute, std::string_view text) {
    const std::vector<std::string> known = split_choices(attribute.choices);
    const std::vector<std::string> given = words_of(text);
    if (given.empty()) return problem(attribute);
    for (const std::string& word : given)
        if (std::find(known.begin(), known.end(), word) == known.end())
            return problem(attribute,
                           word.size() < 100 ? did_you_mean(nearest_name(word, known)) : "");
    if (auto twice = twice_in(attribute, given)) return twice;
    if (given.size() > 1 && std::find(given.begin(), given.end(), "none") != given.end())
        return problem(attribute, "none cannot be combined with others");
    return {};
}

bool is_attribute_name(std::string_view text) {
    constexpr std::size_t longest = 64;
    return text.size() <= longest &&
           std::all_of(text.begin(), text.end(), [](char one) { return one > ' ' && one <= '~'; });
}

Problem check_attribute_names(const AttributeSpec& attribute, std::string_view text) {
    const std::vector<std::string> given = words_of(text);
    if (given.empty() || given.size() > attributes_limit ||
        !std::all_of(given.begin(), given.end(), is_attribute_name))
        return problem(attribute);
    if (given.size() > 1 && std::find(given.begin(), given.end(), "none") != given.end())
        return problem(attribute, "none cannot be combined with others");
    return twice_in(attribute, given);
}

Problem check_names(const AttributeSpec& attribute, std::string_view text) {
    const std::vector<std::string> given = words_of(text);
    if (given.empty() || !std::all_of(given.begin(), given.end(), is_name))
        return problem(attribute);
    return twice_in(attribute, given);
}

Problem check_line(const AttributeSpec& attribute, std::string_view text) {
    const bool valid =
        !text.empty() && text.size() <= line_bytes_limit && !has_control_character(text);
    return valid ? Problem{} : problem(attribute);
}

Problem check_path(const AttributeSpec& attribute, std::string_view text, std::size_t limit_bytes) {
    if (!text.starts_with('/'))
        return problem(attribute, text.empty() ? "" : "paths must begin with /");
    if (has_control_character(text)) return problem(attribute, "it contains a control character");
    if (text.size() > limit_bytes)
        return problem(attribute,
                       fmt::format("it has {} bytes; the limit is {}", text.size(), limit_bytes));
    return {};
}

// Refuses a pattern that matches any file name, because it would watch every program.
Problem check_program(const AttributeSpec& attribute, std::string_view text) {
    if (text.starts_with(build_id_prefix)) {
        const std::string_view digits = text.substr(build_id_prefix.size());
        const bool hexadecimal =
            digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
        if (hexadecimal && digits.size() % 2 == 0 && digits.size() >= build_id_least_digits &&
            digits.size() <= build_id_most_digits)
            return {};
        return problem(
            attribute,
            fmt::format("a build id has {} to {} hexadecimal digits (0-9, a-f), an even number",
                        build_id_least_digits, build_id_most_digits));
    }
    if (text.starts_with(package_prefix)) {
        if (is_package_name(text.substr(package_prefix.size()))) return {};
        return problem(attribute, "use the package name of dpkg, such as package:redis-server");
    }
    if (kind_of_program(text) == ProgramName::Path)
        return check_path(attribute, text, path_bytes_limit);
    if (!text.starts_with('/') && !text.starts_with("*/"))
        return problem(attribute, "a pattern must begin with / or */, and match whole paths");
    if (file_name_of(text).find_first_not_of("*?") == std::string_view::npos)
        return problem(attribute, "a pattern needs part of a name after its last /");
    return check_path(attribute, text.substr(text.find('/')), path_bytes_limit);
}

Problem check_pattern(const AttributeSpec& attribute, std::string_view text) {
    const bool valid =
        !text.empty() && text.size() <= pattern_bytes_limit && !has_control_character(text);
    return valid ? Problem{} : problem(attribute);
}

Problem check_label(const AttributeSpec& attribute, std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos)
        return problem(attribute, "for example app=web; app=* matches any value");
    return check_pattern(attribute, text);
}

Problem check_url(const AttributeSpec& attribute, std::string_view text,
                  std::initializer_list<std::string_view> schemes) {
    std::string wrong = url_problem(text, schemes);
    return wrong.empty() ? Problem{} : problem(attribute, std::move(wrong));
}

// "LEFT:RIGHT", where both sides consist of letters, digits and `others`.
Problem check_pair(const AttributeSpec& attribute, std::string_view text, std::string_view others) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == text.size() ||
        text.size() > 512)
        return problem(attribute);
    if (!all_of(text.substr(0, colon), others) || !all_of(text.substr(colon + 1), others))
        return problem(attribute);
    return {};
}

Problem check_symbol(const AttributeSpec& attribute, std::string_view text) {
    if (text.empty() || text.front() == ' ' || text.back() == ' ') return problem(attribute);
    if (has_control_character(text)) return problem(attribute, "it contains a control character");
    if (text.size() > symbol_bytes_limit)
        return problem(attribute, fmt::format("it has {} bytes", text.size()));
    return {};
}

// Uses the same library that later applies the expression.
Problem check_expression(const AttributeSpec& attribute, std::string_view text) {
    if (text.empty() || text.size() > expression_bytes_limit || has_control_character(text))
        return problem(attribute);
    try {
        const boost::regex expression(text.begin(), text.end());
    } catch (const std::exception& wrong) {
        return problem(attribute, printable(std::string_view(wrong.what())));
    }
    return {};
}

bool is_field(std::string_view text) {
    return !text.empty() && text.size() <= 63 && !is_digit(text.front()) && all_of(text, "_");
}

Problem check_key(const AttributeSpec& attribute, std::string_view text) {
    const std::size_t comma = text.find(',');
    const bool valid = comma == std::string_view::npos
                           ? is_field(text)
                           : is_field(text.substr(0, comma)) && is_field(text.substr(comma + 1));
    return valid ? Problem{} : problem(attribute);
}

Problem check_account(const AttributeSpec& attribute, std::string_view text) {
    const bool valid = !text.empty() && text.size() <= 255 && text.front() != '-' &&
                       text.find_first_of(":/ ,") == std::string_view::npos &&
                       !has_control_character(text);
    return valid ? Problem{} : problem(attribute);
}

}  // namespace

std::optional<ValueProblem> check_value(const AttributeSpec& attribute, std::string_view text,
                                        std::uint64_t& number) {
    switch (attribute.kind) {
        case ValueKind::Name: return is_name(text) ? Problem{} : problem(attribute);
        case ValueKind::Names: return check_names(attribute, text);
        case ValueKind::AttributeNames: return check_attribute_names(attribute, text);
        case ValueKind::Text: return check_line(attribute, text);
        case ValueKind::Choice: return check_choice(attribute, text);
        case ValueKind::Duration: return check_duration(attribute, text, number);
        case ValueKind::Threshold: return check_threshold(attribute, text, number);
        case ValueKind::DurationRange: return check_duration_range(attribute, text, number);
        case ValueKind::ByteSize: return check_byte_size(attribute, text, number);
        case ValueKind::Count: return check_count(attribute, text, number);
        case ValueKind::Share: return check_share(attribute, text, number);
        case ValueKind::ChoiceList: return check_choice_list(attribute, text);
        case ValueKind::Path: return check_path(attribute, text, path_bytes_limit);
        case ValueKind::Program: return check_program(attribute, text);
        case ValueKind::Pattern: return check_pattern(attribute, text);
        case ValueKind::Label: return check_label(attribute, text);
        case ValueKind::SocketPath: return check_path(attribute, text, socket_bytes_limit);
        case ValueKind::Url: return check_url(attribute, text, {"https", "http"});
        case ValueKind::ProxyUrl:
            return check_url(attribute, text, {"http", "https", "socks5", "socks5h"});
        case ValueKind::Usdt: return check_pair(attribute, text, "_$.-");
        case ValueKind::Symbol: return check_symbol(attribute, text);
        case ValueKind::Expression: return check_expression(attribute, text);
        case ValueKind::Tracepoint: return check_pair(attribute, text, "_-");
        case ValueKind::Argument: return is_field(text) ? Problem{} : problem(attribute);
        case ValueKind::Key: return check_key(attribute, text);
        case ValueKind::User:
        case ValueKind::Group: return check_account(attribute, text);
    }
    return problem(attribute);
}

std::optional<std::uint64_t> longest_of_range(std::string_view text) {
    const auto sides = split_range(text);
    const auto longest = sides ? parse_duration(sides->second) : parse_duration(text);
    if (!sides || !longest) return {};
    return static_cast<std::uint64_t>(longest->count());
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (!word.empty()) words.emplace_back(word);
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return words;
}

std::optional<std::uint32_t> argument_number(std::string_view text) {
    if (!text.starts_with("arg")) return {};
    text.remove_prefix(3);
    std::uint32_t number = 0;
    if (text.empty() || text.size() > 9 || !std::all_of(text.begin(), text.end(), is_digit))
        return {};
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

}  // namespace lagtrap::settings
