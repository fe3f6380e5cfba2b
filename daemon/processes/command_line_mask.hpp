// Command lines without the passwords and keys that people put into them: recordings leave the machine.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lagtrap::daemon {

enum class CommandLines : std::uint32_t {
    Masked,   // without secrets
    Program,  // the first argument alone
    All,      // as they are
};

// The arguments of `command_line`, each but the last with a '\0' behind it as in /proc/PID/cmdline, parted by spaces.
// With Masked "***" stands for: values of options and assignments whose names speak of a password, token, secret or key
// (--password=, --token VALUE, DB_PASSWORD=, "secret": in JSON, password= in a connection string), what follows -p, mysql's
// -pVALUE, what follows "user:" after curl's -u, credentials in headers, and user names and passwords in URLs. A secret
// without such a name is not known as one.
[[nodiscard]] std::string shown_command_line(std::string_view command_line, CommandLines mode);

// The same of a text of a program's own, a title or message: masked unless all is shown. A word alone says of no other that
// it is a secret, but for options as above.
[[nodiscard]] std::string shown_text(std::string text, CommandLines mode);

}  // namespace lagtrap::daemon
