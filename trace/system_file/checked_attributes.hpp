// Reads the attributes and lists of an untrusted system file, every value of which is checked.
// Internal to the folder.
#pragma once

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <pugixml.hpp>

#include "core/result.hpp"

namespace lagtrap::trace {

// The attributes of one element. A function with `into` sets it only if the attribute is there; a
// missing one is an error unless the function says otherwise. Only the first error is kept: after
// it, nothing more is read. Errors are ErrorKind::Invalid.
class CheckedAttributes {
  public:
    // `error` is the one of the whole file and must outlive it.
    CheckedAttributes(pugi::xml_node node, std::optional<Error>& error)
        : node_(node), error_(error) {}

    template <typename Number>
    void number(const std::string& attribute, Number& into) {
        const char* name = attribute.c_str();
        const char* value = find(name);
        if (value == nullptr) return;
        const char* end = value + std::char_traits<char>::length(value);
        const auto parsed = std::from_chars(value, end, into);
        if (parsed.ec != std::errc() || parsed.ptr != end || value == end)
            fail(name, value,
                 "a whole number up to " + std::to_string(std::numeric_limits<Number>::max()));
    }
    // At most text_limit_bytes, and made printable.
    void text(const char* name, std::string& into);
    void flag(const char* name, bool& into);
    void hexadecimal(const char* name, std::size_t digits_limit, std::string& into);
    // Accepts exactly this many digits, or a missing attribute.
    void hexadecimal_if_there(const char* name, std::size_t digits, std::string& into);

    [[nodiscard]] bool has(const char* name) const { return !node_.attribute(name).empty(); }
    // The caller does not accept the value it found.
    void fail(const char* name, std::string_view found, const std::string& allowed);

  private:
    // Null if there is none, or after an error.
    const char* find(const char* name);

    pugi::xml_node node_;
    std::optional<Error>& error_;
};

// Calls `each` for the children of that name until there is an error. More than `limit` are
// ErrorKind::TooLarge.
template <typename Each>
void read_list(pugi::xml_node parent, const char* name, std::size_t limit,
               std::optional<Error>& error, Each each) {
    std::size_t count = 0;
    for (const pugi::xml_node node : parent.children(name)) {
        if (error) return;
        if (++count > limit) {
            error = make_error(ErrorKind::TooLarge, std::string("system file: more than ") +
                                                        std::to_string(limit) + " elements \"" +
                                                        name + "\"");
            return;
        }
        each(node);
    }
}

}  // namespace lagtrap::trace
