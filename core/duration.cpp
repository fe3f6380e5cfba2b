#include "core/duration.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/core.h>

namespace lagtrap {
namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 7> duration_units{{{"ns", 1.0},
                                              {"us", 1e3},
                                              {"ms", 1e6},
                                              {"s", 1e9},
                                              {"min", 60e9},
                                              {"h", 3600e9},
                                              {"d", 86400e9}}};

constexpr std::array<Unit, 8> byte_units{{{"B", 1.0},
                                          {"KiB", 1024.0},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9}}};

template <std::size_t N>
std::string unit_names(const std::array<Unit, N>& units) {
    std::string names;
    for (const Unit& unit : units) names += (names.empty() ? "" : ", ") + std::string(unit.name);
    return names;
}

// The nearest double to a decimal number out of range: the largest one, or 0 if all digits before
// the point are zeros.
double nearest_double(std::string_view digits) {
    const std::string_view whole = digits.substr(0, digits.find('.'));
    const bool is_small = whole.find_first_not_of('0') == std::string_view::npos;
    return is_small ? 0.0 : std::numeric_limits<double>::max();
}

// The number times the factor of its unit, which may be infinite, or an error that says which of
// the two is wrong.
template <std::size_t N>
Result<double> parse_quantity(std::string_view text, const std::array<Unit, N>& units,
                              std::string_view example) {
    if (text.empty())
        return make_error(ErrorKind::Invalid,
                          fmt::format("is empty; write for example {}", example));
    if (text.front() == '-') return make_error(ErrorKind::Invalid, "is negative");
    double number = 0;
    const char* end = text.data() + text.size();
    auto [rest, failure] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (failure == std::errc::result_out_of_range) {
        number = nearest_double(text.substr(0, static_cast<std::size_t>(rest - text.data())));
        failure = std::errc{};
    }
    if (failure != std::errc{} || !std::isfinite(number))
        return make_error(
            ErrorKind::Invalid,
            fmt::format("does not begin with a number; write for example {}", example));
    const std::string_view unit_name(rest, static_cast<std::size_t>(end - rest));
    if (unit_name.empty())
        return make_error(ErrorKind::Invalid,
                          fmt::format("has no unit; write for example {}", example));
    for (const Unit& unit : units)
        if (unit.name == unit_name) return number * unit.factor;
    return make_error(ErrorKind::Invalid,
                      fmt::format("has an unknown unit; known units are {}", unit_names(units)));
}

}  // namespace

Result<std::chrono::nanoseconds> parse_duration(std::string_view text) {
    TRY_ASSIGN(const double value, parse_quantity(text, duration_units, "50ms"));
    if (value >= static_cast<double>(std::numeric_limits<std::int64_t>::max()))
        return make_error(ErrorKind::Invalid, "is too large (at most 292 years)");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(std::llround(value)));
}

std::string format_duration(std::chrono::nanoseconds duration) {
    const auto count = duration.count();
    const double magnitude = std::abs(static_cast<double>(count));
    std::string_view unit = "ns";
    double scaled = static_cast<double>(count);
    // Switch to the next unit where three digits would round up to a thousand: 1.00 s, not 1000 ms.
    if (magnitude >= 999.5e6) {
        unit = "s";
        scaled /= 1e9;
    } else if (magnitude >= 999.5e3) {
        unit = "ms";
        scaled /= 1e6;
    } else if (magnitude >= 1e3) {
        unit = "us";
        scaled /= 1e3;
    } else {
        return fmt::format("{} ns", count);
    }
    const double size = std::abs(scaled);
    const int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", scaled, digits, unit);
}

std::string format_duration_ns(std::uint64_t duration_ns) {
    return format_duration(std::chrono::nanoseconds(
        static_cast<std::int64_t>(std::min<std::uint64_t>(duration_ns, INT64_MAX))));
}

Result<std::uint64_t> parse_byte_size(std::string_view text) {
    TRY_ASSIGN(const double value, parse_quantity(text, byte_units, "512MiB"));
    if (value >= 9.2e18) return make_error(ErrorKind::Invalid, "is too large");
    return static_cast<std::uint64_t>(std::llround(value));
}

std::string format_byte_size(std::uint64_t bytes) {
    if (bytes < 1024) return fmt::format("{} B", bytes);
    double scaled = static_cast<double>(bytes);
    for (const std::string_view unit : {"KiB", "MiB", "GiB", "TiB"}) {
        scaled /= 1024.0;
        if (scaled < 1023.95 || unit == "TiB")
            return fmt::format("{:.{}f} {}", scaled, scaled < 9.995 ? 2 : 1, unit);
    }
    return {};
}

}  // namespace lagtrap
