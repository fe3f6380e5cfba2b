// What an unprivileged user may do to a daemon that watches another user's program: one function for each way.
#pragma once

#include <span>
#include <string_view>

namespace hostile {

// Does it until it is killed, or returns the exit status. `arguments` are those that follow the mode's name.
using Mode = int (*)(std::span<char* const> arguments);

struct NamedMode {
    std::string_view name;
    Mode run;
};

// Each file of this folder has the modes against one part of the daemon.
std::span<const NamedMode> run_modes();        // the table of open runs, the budget of hits, the captures
std::span<const NamedMode> attach_modes();     // files that are watched
std::span<const NamedMode> process_modes();    // what the daemon keeps of every process
std::span<const NamedMode> namespace_modes();  // what processes see: users and mounts of their own

}  // namespace hostile
