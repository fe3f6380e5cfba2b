// Attacks by an unprivileged user on a daemon that watches another user's program, one function
// each.
#pragma once

#include <span>
#include <string_view>

namespace hostile {

// Runs until it is killed, or returns the exit status. `arguments` are those after the mode's name.
using Mode = int (*)(std::span<char* const> arguments);

struct NamedMode {
    std::string_view name;
    Mode run;
};

// Each file of this folder has the modes against one part of the daemon.
// the table of open runs, the budget of hits, the captures
std::span<const NamedMode> run_modes();
std::span<const NamedMode> attach_modes();     // watched files
std::span<const NamedMode> process_modes();    // the daemon's data about every process
std::span<const NamedMode> namespace_modes();  // what processes see: their own users and mounts

}  // namespace hostile
