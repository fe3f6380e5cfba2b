// Time zones by name, from the machine's time zone database.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

// Checks the form of a zone's name: "UTC", "Europe/Berlin"; at most 64 bytes of letters, digits and
// "_-+/".
[[nodiscard]] Status check_zone_name(const std::string& zone);

// The zone's offset from UTC at a time, in seconds. ErrorKind::NotFound if the machine has no such
// zone, Invalid if the name is malformed or the file is damaged. Any thread. Reads the file each
// time, except for UTC.
[[nodiscard]] Result<std::int64_t> zone_offset_s(const std::string& zone, std::int64_t at_unix_s,
                                                 const std::string& folder = "/usr/share/zoneinfo");

// As zone_offset_s(), for a POSIX TZ text as at the end of a zone's file:
// "CET-1CEST,M3.5.0,M10.5.0/3".
[[nodiscard]] Result<std::int64_t> posix_zone_offset_s(const std::string& posix,
                                                       std::int64_t at_unix_s);

}  // namespace lagtrap::server
