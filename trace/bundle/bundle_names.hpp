// Names of the files in a bundle. For this folder only.
#pragma once

namespace lagtrap::trace {

inline constexpr const char* trace_name = "trace.pftrace";
inline constexpr const char* system_name = "system.xml";
inline constexpr const char* settings_name = "settings.xml";

}  // namespace lagtrap::trace
