// The arguments of the commands that read, convert and move recordings.
#pragma once

#include "cli/command_choice.hpp"

namespace CLI {
class App;
}

namespace lagtrap::cli {

// Each adds its commands. `choice` must outlive `app`.
void add_recordings(CLI::App& app, Choice& choice);  // report, export, upload
void add_fetch(CLI::App& app, Choice& choice);
void add_symbolize(CLI::App& app, Choice& choice);

}  // namespace lagtrap::cli
