// Every command of `lagtrap` and its options.
#pragma once

#include "cli/command_choice.hpp"

namespace CLI {
class App;
}

namespace lagtrap::cli {

// Parsing fills `choice`: the options of the command, and the command itself as choice.run.
void add_commands(CLI::App& app, Choice& choice);

}  // namespace lagtrap::cli
