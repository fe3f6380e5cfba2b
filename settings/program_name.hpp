// How settings name a program or library: by path, pattern, build id or package.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::settings {

// "/usr/bin/redis-server": this file, and any file at this path in another mount namespace
// (container) where a process runs it. "*/redis-server", "/opt/*/bin/server": each file whose path
// matches; * matches any characters, including /, and ? one character. "build-id:HEX": each file
// with this build id. "package:NAME": each file at a path that this Debian package installed on the
// machine.
enum class ProgramName { Path, Pattern, BuildId, Package };

inline constexpr std::string_view build_id_prefix = "build-id:";
inline constexpr std::string_view package_prefix = "package:";

[[nodiscard]] ProgramName kind_of_program(std::string_view name);
// Whether the pattern with * and ? matches the text. Takes at most time proportional to the product
// of both lengths.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);
// Whether the name means a file that a process sees at this path. `build_id` is in lower-case
// hexadecimal, or empty if unknown; then no build id matches.
[[nodiscard]] bool means_file(std::string_view name, std::string_view path,
                              std::string_view build_id);
// The last component of a path or pattern; empty for a build id or package.
[[nodiscard]] std::string_view file_name_of(std::string_view name);

}  // namespace lagtrap::settings
