#include "core/passed_file.hpp"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstring>

namespace lagtrap {

ssize_t send_with_file(int socket, const char* bytes, std::size_t size, int file, int flags) {
    iovec part{const_cast<char*>(bytes), size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    if (file >= 0) {
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int));
        std::memcpy(CMSG_DATA(rights), &file, sizeof file);
    }
    return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_file(int socket, char* into, std::size_t size, UniqueFd& file, int flags) {
    iovec part{into, size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (got <= 0) return got;
    const cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    if (rights != nullptr && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
        file.reset(fd);
    }
    return got;
}

}  // namespace lagtrap
