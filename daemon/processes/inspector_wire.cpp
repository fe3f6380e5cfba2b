#include "daemon/processes/inspector_wire.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace lagtrap::daemon {

// The other side reads as fast as it can, or is killed: waiting for room needs no deadline.
bool send_inspection(int socket, const InspectionHead& head, const std::string& body, int file) {
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += body;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    for (std::size_t sent = 0; sent < bytes.size();) {
        iovec part{bytes.data() + sent, bytes.size() - sent};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (file >= 0) {
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            cmsghdr* const rights = CMSG_FIRSTHDR(&message);
            rights->cmsg_level = SOL_SOCKET;
            rights->cmsg_type = SCM_RIGHTS;
            rights->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(rights), &file, sizeof file);
        }
        const ssize_t done = ::sendmsg(socket, &message, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        file = -1;
        sent += static_cast<std::size_t>(done);
    }
    return true;
}

long receive_inspection(int socket, char* into, std::size_t size, UniqueFd& file, int flags) {
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
    if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
        file.reset(fd);
    }
    return got;
}

}  // namespace lagtrap::daemon
