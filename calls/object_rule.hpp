// Which functions of a program create, use and release objects of a kind, where each has the object, and what counts as a
// failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::calls {

inline constexpr unsigned most_arguments = 6;  // that are in registers
inline constexpr std::size_t most_successes = 4;
inline constexpr std::size_t most_excepts = 4;

// Where a function has a value.
struct ValuePlace {
    std::optional<unsigned> argument;  // from 0; nullopt: its result
    bool behind = false;               // the argument points to where it will be when the call has ended
    bool operator==(const ValuePlace&) const = default;
};

enum class Failure : std::uint8_t { Never, Negative, Null, Nonzero, NotPositive, MinusOne };

struct ObjectFunctions {
    std::string pattern;             // of symbols: "sqlite3_prepare*"
    ValuePlace object;               // of functions that tell an error: the text
    std::optional<Failure> failure;  // in place of the rule's
    bool operator==(const ObjectFunctions&) const = default;
};

// Objects by functions of C, or of C++ by `class_pattern` alone: then constructors, destructors and methods are found by name,
// and exceptions are failures.
struct ObjectRule {
    std::string name;
    std::string
        class_pattern;    // a regular expression that finds whole names of classes, or their last part; empty: none
    std::string library;  // pattern of the file's name; empty: the program and its own libraries, for C all files
    std::vector<ObjectFunctions> create, use, release, message;
    Failure create_failure = Failure::Never, use_failure = Failure::Never, release_failure = Failure::Never;
    std::vector<std::int64_t> successes;  // results that are none
    std::vector<int> excepts;             // numbers of errno that are none, of functions that fail by it
    std::optional<unsigned> title;        // the argument of creations that is a text which names the object
    bool reused = false;                  // numbers come from a pool that others use too, as file descriptors do
    bool operator==(const ObjectRule&) const = default;
};

// "sqlite3_prepare*:arg3* sqlite3_open:arg1*"; also "fopen:result", and with a failure of its own "SSL_get_error:arg0:nonzero".
// ErrorKind::Invalid: what was found and what is allowed.
[[nodiscard]] Result<std::vector<ObjectFunctions>> parse_object_functions(std::string_view text);
// "never", "negative", "null", "nonzero", "not-positive", "errno" (a result of -1). ErrorKind::Invalid, the same.
[[nodiscard]] Result<Failure> parse_failure(std::string_view text);
// Whether it can be used: it has a name, and functions or a class.
[[nodiscard]] Status check(const ObjectRule& rule);

// Attributes as they stand in settings: {"name":"statement","library":"libsqlite3.so.0","create":"...",...}, values are text.
[[nodiscard]] boost::json::object to_json(const ObjectRule& rule);
// ErrorKind::Invalid: which attribute, what was found and what is allowed.
[[nodiscard]] Result<ObjectRule> parse_object_rule(const boost::json::object& attributes);

// Rules that come with lagtrap, by the name of their preset: "sqlite", "openssl", "stdio", "sockets", "curl".
struct ObjectPreset {
    std::string_view name;
    std::string_view what;  // for lists
    std::vector<ObjectRule> rules;
};
[[nodiscard]] const std::vector<ObjectPreset>& object_presets();
// ErrorKind::NotFound, with those that there are.
[[nodiscard]] Result<std::vector<ObjectRule>> object_preset(std::string_view name);

}  // namespace lagtrap::calls
