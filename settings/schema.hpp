// The vocabulary of settings files, in one table. Parser, error texts, reference and XML schema all
// use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lagtrap::settings {

enum class ValueKind {
    Name,            // [A-Za-z_][A-Za-z0-9_-]{0,62}
    Names,           // several, separated by spaces
    AttributeNames,  // of requests: up to attributes_limit, separated by spaces, or "none"
    Text,            // one line of text for people
    Choice,          // one of `choices`
    Duration,        // core/duration.hpp; low and high in nanoseconds
    // a Duration, "auto", or a percentile and a factor (settings/threshold_rule.hpp)
    Threshold,
    DurationRange,  // a Duration, or "4s..20s", whose shorter side is the number
    ByteSize,       // core/duration.hpp; low and high in bytes
    Count,          // a whole number, low to high
    Share,          // a percentage with %; low and high in millionths
    ChoiceList,     // several of `choices`, each once, separated by spaces
    Path,           // absolute
    Program,        // settings/program_name.hpp
    Pattern,        // text in which * and ? are wildcards
    Label,          // KEY=VALUE; the value is a pattern
    SocketPath,     // absolute, and short enough for a Unix socket
    Url,            // http or https
    ProxyUrl,       // http, https, socks5, socks5h
    Usdt,           // PROVIDER:NAME
    Symbol,         // a function, by symbol or demangled name
    Expression,     // a regular expression
    Tracepoint,     // CATEGORY:NAME
    Argument,       // argN, or a field's name
    Key,            // an Argument, or two field names separated by a comma
    User,           // name or number
    Group,          // name
};

enum class Presence { Required, Optional };

struct AttributeSpec {
    std::string_view name;
    ValueKind kind;
    Presence presence;
    std::string_view default_text;  // parsed like a given value; empty if there is none
    std::string_view choices;       // "a|b|c", for ValueKind::Choice and ChoiceList
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::string_view meaning;
    std::string_view earlier_name{};  // accepted, too, but not documented
};

struct ElementSpec;

struct ChildSpec {
    const ElementSpec* element;
    std::size_t at_most;
};

struct ElementSpec {
    std::string_view name;
    std::string_view meaning;
    std::span<const AttributeSpec> attributes;
    std::span<const ChildSpec> children;
    bool needs_children = false;  // at least one
};

inline constexpr std::size_t events_limit = 256;
inline constexpr std::size_t ends_limit = 4;
inline constexpr std::size_t stages_limit = 16;
inline constexpr std::size_t attributes_limit = 5;
inline constexpr std::size_t depth_limit = 16;
inline constexpr std::size_t file_bytes_limit = 1U << 20;
inline constexpr std::uint32_t usdt_arguments = 12;  // as many as libbpf reads
// those that the calling convention passes in registers
inline constexpr std::uint32_t function_arguments = 6;

// <lagtrap>, the outermost element of a settings file.
[[nodiscard]] const ElementSpec& root_element();

// <preset>, the outermost element of a preset file.
[[nodiscard]] const ElementSpec& preset_element();

// <use>, which stands for the events of a preset.
[[nodiscard]] const ElementSpec& use_element();

// The elements that may have a child of this name, as "<event> or <library>"; empty if none may.
[[nodiscard]] std::string parents_of(std::string_view child);

}  // namespace lagtrap::settings
