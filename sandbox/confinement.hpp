// Drops the rights of a process before it reads untrusted bytes. This cannot be undone.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/result.hpp"

namespace lagtrap {

// The user such a process switches to if started by root; if it does not exist, nobody.
inline constexpr const char* confined_user = "lagtrap-reader";

struct Confinement {
    // 0 means not limited. Not applied in builds with sanitizers, which reserve terabytes of
    // addresses.
    std::uint64_t address_space_bytes = 2ULL << 30;
    std::uint64_t cpu_seconds = 0;  // in its whole life
    std::uint64_t file_bytes = 0;   // limit for the size of each file it writes
    // Besides reading, writing and allocating: messages, also with descriptors, over sockets that
    // are already open.
    bool messages = false;
    // What a merge needs to write its open output files: sync, chmod, folder listings, facts about
    // the machine.
    bool output_files = false;
    // What a broker needs to open files for another process and wait for its end: openat2(),
    // opening for reading, creating, renaming and removing by name.
    bool opens_files = false;
    // What a process needs to inspect other processes and hand out their files: opening for
    // reading, links, folders, mounts, copying within the kernel. write() and similar calls fail,
    // so that it cannot change another's /proc/PID/mem either.
    bool looks_into_processes = false;
};

// Makes the kernel's OOM killer choose this process before the one that asked it to read. Ignores
// errors. Call while files can still be opened.
void become_first_oom_victim();

// Calls become_first_oom_victim(), then switches to user and group of `confined_user`, drops all
// groups and capabilities, and prevents regaining any. If the process is not root's, or may not
// change its user (CAP_SETUID, CAP_SETGID), it keeps user and groups. The kernel kills the process
// when the thread that started it ends.
[[nodiscard]] Status drop_privileges();

// Drops all capabilities except those in `capabilities` (CAP_*) that it has. Does not change the
// user.
[[nodiscard]] Status keep_capabilities(std::initializer_list<int> capabilities);

// From now on, no thread of this process can open files (except as `opens_files` or
// `looks_into_processes` allow), start programs, create sockets, or make memory executable: such
// calls fail with EPERM (seccomp). If this fails, do not read untrusted bytes.
[[nodiscard]] Status confine_process(const Confinement& confinement);

}  // namespace lagtrap
