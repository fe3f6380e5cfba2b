// Places where a test build can be made to fail or die: after every step that changes what lies on disk, so that tests
// can ask of each what the next start makes of it. A build without LAGTRAP_FAULT_POINTS (every package) has none of it:
// the macros are nothing. docs/decisions/0030 says why.
//
// In a test build the environment decides, read once, and never by a program that runs with more rights than its
// caller's (secure_getenv):
//   LAGTRAP_FAULT=POINT[@N]:kill          SIGKILL to itself at POINT
//   LAGTRAP_FAULT=POINT[@N]:error:EIO     the step fails with this errno (EIO, ENOSPC, EDQUOT, EROFS, EINVAL)
//   LAGTRAP_FAULT=list                    prints the program's points, one a line, and exits with 0
//   LAGTRAP_FAULT_LOG=FILE                appends the process id and the name of every point that is passed
// With @N only the N-th time that the point is passed counts, without it every time. A wrong LAGTRAP_FAULT ends the
// program with 2: a test that injects nothing must not pass.
#pragma once

#ifdef LAGTRAP_FAULT_POINTS

#include <filesystem>
#include <string_view>

#include "core/result.hpp"

namespace lagtrap {

// What the list has of a point. They lie in a section of their own, so that none can be forgotten.
struct FaultPoint {
    const char* name;
    bool can_fail;   // false: it can kill, and nothing else
    bool by_suffix;  // its whole name goes on with the suffix of the file that it is about
};

// The error to be injected here, if any; does not return where the point is to kill. From any thread.
[[nodiscard]] Status pass_fault_point(const FaultPoint& point, std::string_view suffix = {});
// "session.json" -> ".json", "ID-DIGEST.runs.zst" -> ".runs.zst".
[[nodiscard]] std::string fault_point_suffix(const std::filesystem::path& path);

}  // namespace lagtrap

#define LAGTRAP_FAULT_ENTRY_(name, can_fail, by_suffix)                                                             \
    __attribute__((used, section("lagtrap_fault_points"))) static const ::lagtrap::FaultPoint fault_point_entry = { \
        name, can_fail, by_suffix}

// FAULT_POINT(name): returns an injected error from the enclosing function.
#define FAULT_POINT(name)                                    \
    do {                                                     \
        LAGTRAP_FAULT_ENTRY_(name, true, false);             \
        TRY(::lagtrap::pass_fault_point(fault_point_entry)); \
    } while (false)
// The same of a step that is taken for files of several kinds: the point's name is `name` and the file's suffix.
#define FAULT_POINT_OF(name, path)                                                                \
    do {                                                                                          \
        LAGTRAP_FAULT_ENTRY_(name, true, true);                                                   \
        TRY(::lagtrap::pass_fault_point(fault_point_entry, ::lagtrap::fault_point_suffix(path))); \
    } while (false)
// Where nothing can fail: a place to be killed at.
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
