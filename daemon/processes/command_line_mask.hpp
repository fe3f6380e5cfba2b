// Removes passwords and keys from command lines, because recordings leave the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagtrap::daemon {

enum class CommandLines : std::uint32_t {
    Masked,   // without secrets
    Program,  // only the first argument
    All,      // unchanged
};

// Formats `command_line`, whose arguments are separated by '\0' as in /proc/PID/cmdline, with
// spaces. Masked replaces these by "***": values of options and assignments whose names suggest a
// password, token, secret or key (--password=, --token VALUE, DB_PASSWORD=, "secret": in JSON,
// password= in a connection string), what follows -p, mysql's -pVALUE, what follows "user:" after
// curl's -u, credentials in headers, and user names and passwords in URLs. A secret without such a
// name is not recognized.
[[nodiscard]] std::string shown_command_line(std::string_view command_line, CommandLines mode);

// Masks a program's own text, a title or a message, unless the mode is All. Here, a word does not
// make the next word a secret, except for options as above.
[[nodiscard]] std::string shown_text(std::string text, CommandLines mode);

}  // namespace lagtrap::daemon
