// The process that looks into others for the daemon (inspector_pool.hpp).
#pragma once

namespace lagtrap::daemon {

// The one argument with which lagtrapd becomes that process; its socket is descriptor 3.
inline constexpr const char* inspector_argument = "--inspect-processes";
inline constexpr int inspector_socket = 3;

// Answers until the daemon is done with it. Gives up what it does not need first: capabilities, priority. The exit status.
[[nodiscard]] int run_inspector();

// Answers until the other side hangs up.
void serve_inspections(int socket);

}  // namespace lagtrap::daemon
