// Zones of the machine's time zone database, by their names.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace lagtrap::server {

// Whether it is shaped as the name of a zone: "UTC", "Europe/Berlin"; at most 64 bytes of letters, digits, "_-+/".
[[nodiscard]] Status check_zone_name(const std::string& zone);

// What the zone's clocks show beyond UTC at a moment, in seconds. ErrorKind::NotFound: the machine knows no zone of this name;
// ErrorKind::Invalid: it is no name of a zone, or its file is damaged. Any thread; reads a file each time, none for UTC.
[[nodiscard]] Result<std::int64_t> zone_offset_s(const std::string& zone, std::int64_t at_unix_s,
                                                 const std::string& folder = "/usr/share/zoneinfo");

// The same of the text at the end of a zone's file, as POSIX has TZ: "CET-1CEST,M3.5.0,M10.5.0/3".
[[nodiscard]] Result<std::int64_t> posix_zone_offset_s(const std::string& posix, std::int64_t at_unix_s);

}  // namespace lagtrap::server
