// Starts programs from a process with threads. The child inherits only the descriptors named.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "core/result.hpp"

namespace lagtrap {

struct ChildDescriptor {
    int its = -1;   // the child's number for it
    int ours = -1;  // an open descriptor of ours; -1 for /dev/null
};

struct ChildOptions {
    std::vector<std::string> arguments;  // the first is the name of the child, argv[0]
    std::vector<ChildDescriptor> descriptors;
    bool with_environment = false;  // false: the child's environment is empty
    // lead a new process group, so that one signal reaches its children too
    bool own_group = false;
};

// Starts `program`, a path. In the child, no signal is blocked or ignored, whatever the state here.
// Descriptors 0 to 2 are inherited unless named; those above the highest named one (or above 2) are
// closed. The caller waits for the child (waitpid(2)). Errors: those of posix_spawn(3).
[[nodiscard]] Result<pid_t> start_child(const std::string& program, const ChildOptions& options);

// Waits until children that other threads are starting have closed what they inherited. Until then,
// a descriptor that this process has closed is still open in such a child, and so is what it holds,
// such as a probe or a lock.
void await_starting_children();

}  // namespace lagtrap
