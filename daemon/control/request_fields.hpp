// Reads fields of requests at the control socket. Each error says what was found and what is
// allowed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "core/result.hpp"

namespace lagtrap::daemon {

[[nodiscard]] Result<std::int64_t> number_in(const boost::json::object& request, const char* name,
                                             std::int64_t otherwise, std::int64_t least,
                                             std::int64_t most);
// Fields that requests for traces of a process share: the process number ("pid", which `command`
// requires), a time of up to a day in nanoseconds, and the share of a CPU for probes
// ("budget_permille", default a tenth).
[[nodiscard]] Result<std::uint32_t> pid_in(const boost::json::object& request, const char* command);
[[nodiscard]] Result<std::chrono::nanoseconds> time_in(const boost::json::object& request,
                                                       const char* name,
                                                       std::chrono::nanoseconds otherwise = {});
// Length of a recording on request ("length_ns"); nullopt if absent or 0.
[[nodiscard]] Result<std::optional<std::chrono::nanoseconds>> length_in(
    const boost::json::object& request);
[[nodiscard]] Result<double> budget_in(const boost::json::object& request);
// Empty if the field is absent.
[[nodiscard]] Result<std::string> text_in(const boost::json::object& request, const char* name,
                                          std::size_t limit_bytes = 4096);
[[nodiscard]] Result<std::vector<std::string>> texts_in(const boost::json::object& request,
                                                        const char* name);

}  // namespace lagtrap::daemon
