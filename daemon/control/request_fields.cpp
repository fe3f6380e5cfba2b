#include "daemon/control/request_fields.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/core.h>

namespace lagtrap::daemon {
namespace {

namespace json = boost::json;

constexpr std::int64_t max_request_ns = 24LL * 3600 * 1'000'000'000;
constexpr std::size_t max_text = 4096;
constexpr std::size_t max_only = 1000;

Error wrong(const std::string& what) { return make_error(ErrorKind::Invalid, what); }

}  // namespace

Result<std::int64_t> number_in(const json::object& request, const char* name,
                               std::int64_t otherwise, std::int64_t least, std::int64_t most) {
    const auto* const value = request.if_contains(name);
    if (value == nullptr) return otherwise;
    boost::system::error_code failed;
    const auto number = value->to_number<std::int64_t>(failed);
    if (failed || number < least || number > most)
        return wrong(fmt::format("\"{}\" is {}; expected a whole number from {} to {}", name,
                                 json::serialize(*value).substr(0, 100), least, most));
    return number;
}

Result<std::uint32_t> pid_in(const json::object& request, const char* command) {
    TRY_ASSIGN(const auto pid, number_in(request, "pid", 0, 1, 1 << 22));
    if (pid == 0) return wrong(fmt::format("\"{}\" needs a \"pid\"", command));
    return static_cast<std::uint32_t>(pid);
}

Result<std::chrono::nanoseconds> time_in(const json::object& request, const char* name,
                                         std::chrono::nanoseconds otherwise) {
    TRY_ASSIGN(const auto time_ns, number_in(request, name, otherwise.count(), 0, max_request_ns));
    return std::chrono::nanoseconds(time_ns);
}

Result<std::optional<std::chrono::nanoseconds>> length_in(const json::object& request) {
    // limits of trace lengths in the settings
    constexpr std::int64_t min_ns = 1'000'000, max_ns = 600'000'000'000;
    TRY_ASSIGN(const std::int64_t length_ns, number_in(request, "length_ns", 0, 0, max_ns));
    if (length_ns == 0) return std::optional<std::chrono::nanoseconds>();
    return std::optional(std::chrono::nanoseconds(std::max(length_ns, min_ns)));
}

Result<double> budget_in(const json::object& request) {
    TRY_ASSIGN(const auto permille, number_in(request, "budget_permille", 100, 1, 100'000));
    return static_cast<double>(permille) / 1000;
}

Result<std::string> text_in(const json::object& request, const char* name,
                            std::size_t limit_bytes) {
    const auto* const value = request.if_contains(name);
    if (value == nullptr) return std::string();
    if (!value->is_string() || value->as_string().size() > limit_bytes)
        return wrong(
            fmt::format("\"{}\": expected a string of at most {} bytes", name, limit_bytes));
    return std::string(value->as_string());
}

Result<std::vector<std::string>> texts_in(const json::object& request, const char* name) {
    std::vector<std::string> texts;
    const auto* const value = request.if_contains(name);
    if (value == nullptr) return texts;
    if (!value->is_array() || value->as_array().size() > max_only)
        return wrong(fmt::format("\"{}\": expected a list of at most {} names", name, max_only));
    for (const json::value& one : value->as_array()) {
        if (!one.is_string() || one.as_string().empty() || one.as_string().size() > max_text)
            return wrong(fmt::format("\"{}\": expected names of 1 to {} bytes", name, max_text));
        texts.emplace_back(one.as_string());
    }
    return texts;
}

}  // namespace lagtrap::daemon
