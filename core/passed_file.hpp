// Messages over a Unix socket that carry an open file (unix(7), SCM_RIGHTS).
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "core/unique_fd.hpp"

namespace lagtrap {

// One sendmsg() of these bytes with the descriptor `file`; with -1, without one. As sendmsg() itself: how much was sent, or -1 and
// errno. Never raises SIGPIPE; `flags` as sendmsg() has them.
[[nodiscard]] ssize_t send_with_file(int socket, const char* bytes, std::size_t size, int file, int flags = 0);

// One recvmsg() of at most `size` bytes. A descriptor that comes with them is put into `file`, closed on exec; what was there before
// is closed. Others beyond the first are refused by the kernel. As recvmsg() itself: how much came, 0 at the end, or -1 and errno.
[[nodiscard]] ssize_t receive_with_file(int socket, char* into, std::size_t size, UniqueFd& file, int flags = 0);

}  // namespace lagtrap
