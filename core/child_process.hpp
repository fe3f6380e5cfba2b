// Starting a program out of a program with threads: what it gets of ours is named, all else is kept from it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap {

struct ChildDescriptor {
    int its = -1;   // the number by which the child knows it
    int ours = -1;  // an open descriptor; -1 is /dev/null
};

struct ChildOptions {
    std::vector<std::string> arguments;  // the first is what the child is called
    std::vector<ChildDescriptor> descriptors;
    bool with_environment = false;  // else its environment is empty
    bool own_group = false;         // it leads a process group, so that one signal reaches its children too
};

// Starts `program`, a path. No signal is blocked or ignored in the child, whatever is here; descriptors 0 to 2 that are not named
// are as here, those above the highest that is named (or above 2) are closed. The caller waits for it (waitpid(2)).
// Errors: the system's, as posix_spawn(3) says it.
[[nodiscard]] Result<pid_t> start_child(const std::string& program, const ChildOptions& options);

}  // namespace lagtrap
