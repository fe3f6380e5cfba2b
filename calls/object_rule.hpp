// Rules for objects of one kind: which functions of a program create, use and release them, where
// each function has the object, and what counts as a failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::calls {

inline constexpr unsigned max_arguments = 6;  // passed in registers
inline constexpr std::size_t max_successes = 4;
inline constexpr std::size_t max_excepts = 4;

// Where a function has a value.
struct ValuePlace {
    std::optional<unsigned> argument;  // from 0; nullopt for the result
    // the argument points to where the value will be when the call ends
    bool behind = false;
    bool operator==(const ValuePlace&) const = default;
};

enum class Failure : std::uint8_t { Never, Negative, Null, Nonzero, NotPositive, MinusOne };

struct ObjectFunctions {
    std::string pattern;             // for symbols: "sqlite3_prepare*"
    ValuePlace object;               // for functions that return an error text: the text
    std::optional<Failure> failure;  // overrides the rule's
    bool operator==(const ObjectFunctions&) const = default;
};

// Either C functions, or `class_pattern` alone for C++: then constructors, destructors and methods
// are found by name, and exceptions count as failures.
struct ObjectRule {
    std::string name;
    // regular expression for whole class names or their last part; empty for C
    std::string class_pattern;
    // file name pattern; empty: the program and its own libraries, for C all files
    std::string library;
    std::vector<ObjectFunctions> create, use, release, message;
    Failure create_failure = Failure::Never, use_failure = Failure::Never,
            release_failure = Failure::Never;
    std::vector<std::int64_t> successes;  // results that do not count as failures
    // errno values that do not count as failures, for functions that fail with errno
    std::vector<int> excepts;
    // argument of the creating function with a text that names the object
    std::optional<unsigned> title;
    // values come from a pool shared with others, as file descriptors do
    bool reused = false;
    bool operator==(const ObjectRule&) const = default;
};

// Parses "sqlite3_prepare*:arg3* sqlite3_open:arg1*"; also "fopen:result", or
// "SSL_get_error:arg0:nonzero" with a failure of its own. ErrorKind::Invalid says what was found
// and what is allowed.
[[nodiscard]] Result<std::vector<ObjectFunctions>> parse_object_functions(std::string_view text);
// Parses "never", "negative", "null", "nonzero", "not-positive" or "errno" (a result of -1).
// ErrorKind::Invalid says what was found and what is allowed.
[[nodiscard]] Result<Failure> parse_failure(std::string_view text);
// Checks that the rule is usable: it needs a name, and functions or a class.
[[nodiscard]] Status check(const ObjectRule& rule);

// Attributes as in the settings file,
// {"name":"statement","library":"libsqlite3.so.0","create":"...",...}; all values are texts.
[[nodiscard]] boost::json::object to_json(const ObjectRule& rule);
// ErrorKind::Invalid says which attribute, what was found and what is allowed.
[[nodiscard]] Result<ObjectRule> parse_object_rule(const boost::json::object& attributes);

// Rules that come with lagtrap, by preset name: "sqlite", "openssl", "stdio", "sockets", "curl".
struct ObjectPreset {
    std::string_view name;
    std::string_view what;  // for lists
    std::vector<ObjectRule> rules;
};
[[nodiscard]] const std::vector<ObjectPreset>& object_presets();
// ErrorKind::NotFound lists the existing presets.
[[nodiscard]] Result<std::vector<ObjectRule>> object_preset(std::string_view name);

}  // namespace lagtrap::calls
