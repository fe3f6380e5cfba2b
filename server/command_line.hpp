// Options and commands of lagtrap-server.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "server/options.hpp"

namespace lagtrap::server {

// Executes the parsed command line; returns the program's exit code.
using Command = std::function<int()>;

// `options` and `chosen` must outlive both the parsing and the command. `chosen` is left unchanged
// if no command is given.
void add_server_options(CLI::App& app, Options& options);
void add_commands(CLI::App& app, Options& options, Command& chosen);

}  // namespace lagtrap::server
