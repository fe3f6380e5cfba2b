// Points at which a test build can be made to fail or die: one after every step that changes files
// on disk, so that tests can check what the next start does about it. Without LAGTRAP_FAULT_POINTS,
// as in every package, the macros expand to nothing. Reasons: docs/decisions/0030.
//
// In a test build, environment variables select the fault. They are read once, and ignored in
// programs with more rights than their caller (secure_getenv):
//   LAGTRAP_FAULT=POINT[@N]:kill          sends itself SIGKILL at POINT
//   LAGTRAP_FAULT=POINT[@N]:error:EIO     the step fails with this errno
//                                         (EIO, ENOSPC, EDQUOT, EROFS, EINVAL)
//   LAGTRAP_FAULT=list                    prints the program's points, one per line, exits with 0
//   LAGTRAP_FAULT_LOG=FILE                appends the process id and the name of every point passed
// @N selects the N-th time the point is passed; the default is every time. An invalid LAGTRAP_FAULT
// ends the program with exit status 2, because a test that injects nothing must not pass.
#pragma once

#ifdef LAGTRAP_FAULT_POINTS

#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap {

// An entry of the list of points. A linker section of its own collects them, so that none can be
// forgotten.
struct FaultPoint {
    const char* name;
    bool can_fail;   // false: it can only kill
    bool by_suffix;  // the suffix of the file concerned is appended to its name
};

// Returns the error to inject here, if any. Does not return if the process must die here.
// Thread-safe.
[[nodiscard]] Status pass_fault_point(const FaultPoint& point, std::string_view suffix = {});
// "session.json" -> ".json", "ID-DIGEST.runs.zst" -> ".runs.zst".
[[nodiscard]] std::string fault_point_suffix(const std::filesystem::path& path);

}  // namespace lagtrap

#define LAGTRAP_FAULT_ENTRY_(name, can_fail, by_suffix)                                            \
    __attribute__((                                                                                \
        used,                                                                                      \
        section("lagtrap_fault_points"))) static const ::lagtrap::FaultPoint fault_point_entry = { \
        name, can_fail, by_suffix}

// FAULT_POINT(name): returns an injected error from the enclosing function.
#define FAULT_POINT(name)                                    \
    do {                                                     \
        LAGTRAP_FAULT_ENTRY_(name, true, false);             \
        TRY(::lagtrap::pass_fault_point(fault_point_entry)); \
    } while (false)
// As FAULT_POINT(), for a step that handles several kinds of files: the point's name is `name` plus
// the file's suffix.
#define FAULT_POINT_OF(name, path)                                                                \
    do {                                                                                          \
        LAGTRAP_FAULT_ENTRY_(name, true, true);                                                   \
        TRY(::lagtrap::pass_fault_point(fault_point_entry, ::lagtrap::fault_point_suffix(path))); \
    } while (false)
// KILL_POINT(name): for a step that cannot fail; the process can only be killed there.
#define KILL_POINT(name)                                      \
    do {                                                      \
        LAGTRAP_FAULT_ENTRY_(name, false, false);             \
        (void)::lagtrap::pass_fault_point(fault_point_entry); \
    } while (false)

#else

#define FAULT_POINT(name) \
    do {                  \
    } while (false)
#define FAULT_POINT_OF(name, path) \
    do {                           \
    } while (false)
#define KILL_POINT(name) \
    do {                 \
    } while (false)

#endif
