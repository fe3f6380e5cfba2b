// What the settings call a program or library: the path of a file, or what its files have in common.
#pragma once

#include <string>
#include <string_view>

namespace lagtrap::settings {

// "/usr/bin/redis-server": the file of this name, and each of this name that processes in other views of the file system
// (containers) run. "*/redis-server", "/opt/*/bin/server": each file with such a path; * stands for any characters, / too, ?
// for one. "build-id:HEX": each file of this build id. "package:NAME": each file with a path that the Debian package of this name
// has on the machine.
enum class ProgramName { Path, Pattern, BuildId, Package };

inline constexpr std::string_view build_id_prefix = "build-id:";
inline constexpr std::string_view package_prefix = "package:";

[[nodiscard]] ProgramName kind_of_program(std::string_view name);
// Whether text with * and ? means this one. Takes time in proportion to both lengths.
[[nodiscard]] bool matches_pattern(std::string_view pattern, std::string_view text);
// Whether the name means a file that is mapped under this path, as the process sees it. `build_id` in lower-case
// hexadecimal; empty where it is not known, and no build id then means it.
[[nodiscard]] bool means_file(std::string_view name, std::string_view path, std::string_view build_id);
// The last part of a path or pattern; empty of a build id or package.
[[nodiscard]] std::string_view file_name_of(std::string_view name);

}  // namespace lagtrap::settings
