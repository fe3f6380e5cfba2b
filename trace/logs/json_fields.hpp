// Reads the fields of JSON objects that must have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <boost/json.hpp>

#include "core/result.hpp"

namespace lagtrap::trace {

// Keeps the first error and skips everything after it. Errors: Invalid; a field is missing or has
// another type or size.
class JsonFields {
  public:
    static constexpr std::size_t text_limit_bytes = 4096;

    // `where`: the place of the object, for errors; "" or "trigger.". All must outlive it.
    JsonFields(const boost::json::object& object, std::string where, std::optional<Error>& error)
        : object_(object), where_(std::move(where)), error_(error) {}

    template <typename Number>
    void number(const char* name, Number& into, Number most = std::numeric_limits<Number>::max()) {
        const boost::json::value* value = find(name);
        if (value == nullptr) return;
        std::uint64_t found = 0;
        if (value->is_uint64()) {
            found = value->get_uint64();
        } else if (value->is_int64() && value->get_int64() >= 0) {
            found = static_cast<std::uint64_t>(value->get_int64());
        } else {
            return fail(name, "is not a whole number of 0 or more");
        }
        if (found > most)
            return fail(name, "is " + std::to_string(found) + "; at most " + std::to_string(most) +
                                  " is allowed");
        into = static_cast<Number>(found);
    }

    [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }

    void flag(const char* name, bool& into) {
        const boost::json::value* value = find(name);
        if (value == nullptr) return;
        if (!value->is_bool()) return fail(name, "is neither true nor false");
        into = value->get_bool();
    }

    void string(const char* name, std::string& into) {
        const boost::json::value* value = find(name);
        if (value == nullptr) return;
        if (!value->is_string()) return fail(name, "is not a text");
        if (value->get_string().size() > text_limit_bytes)
            return fail(name, "is longer than " + std::to_string(text_limit_bytes) + " bytes");
        into.assign(value->get_string().data(), value->get_string().size());
    }

    // Visits the elements of a list of at most `limit`, with each value and its place.
    template <typename Each>
    void list(const char* name, std::size_t limit, Each each) {
        const boost::json::value* value = find(name);
        if (value == nullptr) return;
        if (!value->is_array()) return fail(name, "is not a list");
        const boost::json::array& elements = value->get_array();
        if (elements.size() > limit)
            return fail(name, "has " + std::to_string(elements.size()) + " elements; at most " +
                                  std::to_string(limit) + " are allowed");
        for (std::size_t i = 0; i < elements.size() && !error_; ++i)
            each(elements[i], where_ + name + "[" + std::to_string(i) + "]");
    }

    template <typename Read>
    void object(const char* name, Read read) {
        const boost::json::value* value = find(name);
        if (value == nullptr) return;
        if (!value->is_object()) return fail(name, "is not an object");
        read(JsonFields(value->get_object(), where_ + name + ".", error_));
    }

    void fail(const std::string& name, const std::string& what) {
        if (!error_) error_ = make_error(ErrorKind::Invalid, "\"" + where_ + name + "\" " + what);
    }

  private:
    const boost::json::value* find(const char* name) {
        if (error_) return nullptr;
        const boost::json::value* value = object_.if_contains(name);
        if (value == nullptr) fail(name, "is missing");
        return value;
    }

    const boost::json::object& object_;
    std::string where_;
    std::optional<Error>& error_;
};

}  // namespace lagtrap::trace
