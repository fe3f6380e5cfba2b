// The files of a bundle. Used by the other files of this folder.
#pragma once

namespace lagtrap::trace {

inline constexpr const char* trace_name = "trace.pftrace";
inline constexpr const char* system_name = "system.xml";
inline constexpr const char* settings_name = "settings.xml";

}  // namespace lagtrap::trace
