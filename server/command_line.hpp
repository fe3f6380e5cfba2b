// Options and commands of lagtrap-server.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "server/options.hpp"

namespace lagtrap::server {

// What is to be done, once the command line is read; gives the program's exit code.
using Command = std::function<int()>;

// `options` and `chosen` outlive the parsing and the command. `chosen` stays as it is where no command is named.
void add_server_options(CLI::App& app, Options& options);
void add_commands(CLI::App& app, Options& options, Command& chosen);

}  // namespace lagtrap::server
