// The helper process that inspects other processes for the daemon (inspector_pool.hpp).
#pragma once

namespace lagtrap::daemon {

// The only argument with which lagtrapd becomes a helper. Its socket is descriptor 3.
inline constexpr const char* inspector_argument = "--inspect-processes";
inline constexpr int inspector_socket = 3;

// Drops capabilities and priority that it does not need, then answers requests until the daemon
// closes the socket. Returns the exit status.
[[nodiscard]] int run_inspector();

// Answers requests until the other side closes the socket.
void serve_inspections(int socket);

}  // namespace lagtrap::daemon
