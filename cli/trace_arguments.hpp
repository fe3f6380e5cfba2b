// The arguments of the commands that trace functions and objects of a process.
#pragma once

#include "cli/command_choice.hpp"

namespace CLI {
class App;
}

namespace lagtrap::cli {

// Each adds its command. `choice` must outlive `app`.
void add_calls(CLI::App& app, Choice& choice);
void add_functions(CLI::App& app, Choice& choice);
void add_objects(CLI::App& app, Choice& choice);

}  // namespace lagtrap::cli
