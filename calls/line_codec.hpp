// Writes the lines of a trace as JSON, and reads them back. A struct lists its contents in one
// function, which serves both ways: fields() if it is an object in JSON, columns() if it is an
// array.
//     template <typename Io> void columns(Io& io, Of<Io, DetachedFunction>& one) {
//         io(one.function, one.calls_per_second);
//     }
// Lines are untrusted: readers throw a std::exception if a value is missing or of the wrong type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <boost/json.hpp>

#include "core/result.hpp"
#include "core/text.hpp"

namespace lagtrap::calls {

template <typename Io, typename T>
using Of = typename Io::template Of<T>;

struct Writes {
    template <typename T>
    using Of = const T;
    static constexpr bool reads = false;
    static void require(bool /*good*/, const char* /*problem*/) {}
};

struct Reads {
    template <typename T>
    using Of = T;
    static constexpr bool reads = true;
    static void require(bool good, const char* problem) {
        if (!good) throw std::out_of_range(problem);
    }
};

template <typename T>
[[nodiscard]] boost::json::value value_of(const T& one);
template <typename T>
void read_value(const boost::json::value& value, T& one);

struct ColumnWriter : Writes {
    boost::json::array row;

    template <typename... T>
    void operator()(const T&... columns) {
        row.reserve(row.size() + sizeof...(columns));
        (row.push_back(value_of(columns)), ...);
    }
    // True if further columns follow.
    [[nodiscard]] static bool continues(bool wanted) { return wanted; }
};

struct ColumnReader : Reads {
    const boost::json::array& row;
    std::size_t next = 0;

    explicit ColumnReader(const boost::json::value& value) : row(value.as_array()) {}
    template <typename... T>
    void operator()(T&... columns) {
        (read_value(row.at(next++), columns), ...);
    }
    [[nodiscard]] bool continues(bool /*wanted*/) const { return next < row.size(); }
};

struct FieldWriter : Writes {
    boost::json::object object;

    template <typename T>
    void operator()(const char* name, const T& one) {
        object.emplace(name, value_of(one));
    }
    // Older recordings lack the field.
    template <typename T>
    void added(const char* name, const T& one) {
        (*this)(name, one);
    }
    // Written only if it differs from `usual`.
    template <typename T>
    void unless(const T& usual, const char* name, const T& one) {
        if (one != usual) (*this)(name, one);
    }
};

struct FieldReader : Reads {
    const boost::json::object& object;

    explicit FieldReader(const boost::json::value& value) : object(value.as_object()) {}
    template <typename T>
    void operator()(const char* name, T& one) {
        read_value(object.at(name), one);
    }
    template <typename T>
    void added(const char* name, T& one) {
        if (const auto* value = object.if_contains(name)) read_value(*value, one);
    }
    template <typename T>
    void unless(const T& /*usual*/, const char* name, T& one) {
        added(name, one);
    }
    // True if the object has the field.
    template <typename T>
    [[nodiscard]] bool operator()(const char* name, std::optional<T>& one) {
        const auto* value = object.if_contains(name);
        if (value != nullptr) read_value(*value, one.emplace());
        return value != nullptr;
    }
};

template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;

template <typename T>
boost::json::value value_of(const T& one) {
    if constexpr (std::is_same_v<T, bool>) {
        return one ? 1 : 0;
    } else if constexpr (std::is_enum_v<T>) {
        return static_cast<unsigned>(one);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return boost::json::string(one);
    } else if constexpr (is_list<T>) {
        boost::json::array list;
        list.reserve(one.size());
        for (const auto& each : one) list.push_back(value_of(each));
        return list;
    } else if constexpr (requires(ColumnWriter & io) { columns(io, one); }) {
        ColumnWriter io;
        columns(io, one);
        return std::move(io.row);
    } else if constexpr (requires(FieldWriter & io) { fields(io, one); }) {
        FieldWriter io;
        fields(io, one);
        return std::move(io.object);
    } else {
        return one;
    }
}

template <typename T>
void read_value(const boost::json::value& value, T& one) {
    if constexpr (std::is_same_v<T, bool>) {
        one = value.to_number<std::uint64_t>() != 0;
    } else if constexpr (std::is_arithmetic_v<T>) {
        one = value.to_number<T>();
    } else if constexpr (std::is_enum_v<T>) {
        one = static_cast<T>(value.to_number<std::underlying_type_t<T>>());
    } else if constexpr (std::is_same_v<T, std::string>) {
        one = printable(std::string_view(value.as_string()));
    } else if constexpr (is_list<T>) {
        for (const boost::json::value& each : value.as_array())
            read_value(each, one.emplace_back());
    } else if constexpr (requires(ColumnReader & io) { columns(io, one); }) {
        ColumnReader io(value);
        columns(io, one);
    } else {
        FieldReader io(value);
        fields(io, one);
    }
}

// {"name":...}
template <typename T>
[[nodiscard]] boost::json::object line_of(const char* name, const T& one) {
    return {{name, value_of(one)}};
}
// The first line of an answer: {"ok":true,"name":...}
template <typename T>
[[nodiscard]] boost::json::object first_line_of(const char* name, const T& one) {
    return {{"ok", true}, {name, value_of(one)}};
}

// Messages for lines that cannot be read.
struct LineErrors {
    const char* unknown;
    const char* malformed;
    const char* several = nullptr;  // parts; null: allowed
};

// Reads a line. `read` takes the line's FieldReader and a Message, and returns how many parts it
// found. ErrorKind::Invalid if the daemon reports an error, or if there is no part.
template <typename Message, typename Read>
[[nodiscard]] Result<Message> parse_line(const std::string& line, const LineErrors& errors,
                                         const Read& read) {
    try {
        const boost::json::value value = boost::json::parse(line);
        FieldReader io(value);
        if (const auto* ok = io.object.if_contains("ok"); ok != nullptr && !ok->as_bool()) {
            std::string error;
            io("error", error);
            return make_error(ErrorKind::Invalid, error);
        }
        Message message;
        const int parts = read(io, message);
        if (parts == 0) return make_error(ErrorKind::Invalid, errors.unknown);
        if (parts > 1 && errors.several != nullptr)
            return make_error(ErrorKind::Invalid, errors.several);
        return message;
    } catch (const std::exception&) {
        return make_error(ErrorKind::Invalid, errors.malformed);
    }
}

}  // namespace lagtrap::calls
