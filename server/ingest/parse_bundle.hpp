// The sandboxed process's part of reading a bundle. Nothing here opens files; it only reads the
// given descriptor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "analysis/machine_timeline.hpp"
#include "core/result.hpp"
#include "formats/stack_profile.hpp"

namespace lagtrap::server {

inline constexpr std::uint64_t parsed_trace_limit_bytes = 512ULL << 20;
inline constexpr std::size_t timeline_limit_bytes = 32U << 20;

// Facts, delays and profiles in the format of write_parsed_bundle(). If the trace is damaged but
// the system file is not, only the profiles are missing, and the delays' details say so.
[[nodiscard]] Result<std::string> describe_bundle(int fd);
// The system file; an error if it is not valid.
[[nodiscard]] Result<std::string> read_system_xml(int fd);
// The quality of the recording as JSON, from the system file only.
[[nodiscard]] Result<std::string> describe_quality(int fd);
// The timeline of a delay (counted from 1) as JSON. ErrorKind::NotFound if there is no such delay.
[[nodiscard]] Result<std::string> describe_timeline(int fd, std::uint32_t delay);
// The machine around a delay (counted from 1), see machine_json(). ErrorKind::NotFound if there is
// no such delay.
[[nodiscard]] Result<std::string> describe_machine(int fd, std::uint32_t delay,
                                                   const analysis::MachineWindow& window);
// A delay in another tool's format (formats/format_table.hpp). ErrorKind::NotFound if there is no
// such delay or format.
[[nodiscard]] Result<std::string> delay_in_form(int fd, std::uint32_t delay,
                                                std::string_view format, formats::TimeChoice time);
[[nodiscard]] Status stream_trace(int fd, const std::function<Status(std::string_view)>& take);

}  // namespace lagtrap::server
