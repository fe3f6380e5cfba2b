// What a process that reads hostile bytes gives up: for good, before it reads the first of them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/result.hpp"

namespace lagtrap {

// The user whose rights such a process has where it is started by root; where there is none, nobody.
inline constexpr const char* confined_user = "lagtrap-reader";

struct Confinement {
    // 0 or less: not limited. Sanitizers reserve terabytes of addresses: in their builds the memory is not limited.
    std::uint64_t address_space_bytes = 2ULL << 30;
    std::uint64_t cpu_seconds = 0;  // in its whole life
    std::uint64_t file_bytes = 0;   // so large may a file become by its writing
    // Besides reading, writing and allocating: messages (with descriptors in them) over sockets that are open already.
    bool messages = false;
    // What a merge needs to write its files once they are open: sync, chmod, lists of folders, facts of the machine.
    bool output_files = false;
    // What a process needs that opens files for another one and waits for its end: opening by openat2() or for reading,
    // making and renaming and removing by name.
    bool opens_files = false;
    // What a process needs that looks into other processes and hands their files out: opening for reading, links, folders, mounts,
    // and copying within the kernel. write() and its like fail, so that /proc/PID/mem of another cannot be changed either.
    bool looks_into_processes = false;
};

// Where memory runs out, the kernel ends this process rather than the one that asked it to read. That it cannot be said
// changes nothing else. To be called before files can no longer be opened.
void become_first_oom_victim();

// Calls become_first_oom_victim(), then gives up root: user and groups of `confined_user`, no capability, no way to gain one again.
// Where the process is not root's, or may not change its user (CAP_SETUID, CAP_SETGID), only the last two. The kernel
// ends the process when the thread that started it ends.
[[nodiscard]] Status drop_privileges();

// Gives up all capabilities but those of `capabilities` (CAP_*) that it has. The user stays.
[[nodiscard]] Status keep_capabilities(std::initializer_list<int> capabilities);

// From now on no file can be opened (but with `opens_files`), nothing started, no socket made, no memory made executable:
// such calls of all its threads fail with EPERM (seccomp). Errors: the kernel does not take it; then nothing hostile may be
// read.
[[nodiscard]] Status confine_process(const Confinement& confinement);

}  // namespace lagtrap
