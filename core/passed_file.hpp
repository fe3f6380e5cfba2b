// Messages over a Unix socket that carry an open file (unix(7), SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "core/unique_fd.hpp"

namespace lagtrap {

// Sends these bytes with one sendmsg(), together with the descriptor `file` unless it is -1.
// `flags` are those of sendmsg(). Returns the number of bytes sent, or -1 and errno. Never raises
// SIGPIPE.
[[nodiscard]] ssize_t send_with_file(int socket, const char* bytes, std::size_t size, int file,
                                     int flags = 0);

// Receives at most `size` bytes with one recvmsg(). A descriptor that comes with them replaces
// `file`, with close-on-exec set; the old one is closed. The kernel drops any further descriptors.
// Returns the number of bytes received, 0 at the end, or -1 and errno.
[[nodiscard]] ssize_t receive_with_file(int socket, char* into, std::size_t size, UniqueFd& file,
                                        int flags = 0);

}  // namespace lagtrap
