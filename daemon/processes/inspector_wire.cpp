#include "daemon/processes/inspector_wire.hpp"

#include <cerrno>

#include "core/passed_file.hpp"

namespace lagtrap::daemon {

// The other side reads as fast as it can or is killed, so sending needs no deadline.
bool send_inspection(int socket, const InspectionHead& head, const std::string& body, int file) {
    std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
    bytes += body;
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t done = send_with_file(socket, bytes.data() + sent, bytes.size() - sent, file);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        file = -1;
        sent += static_cast<std::size_t>(done);
    }
    return true;
}

long receive_inspection(int socket, char* into, std::size_t size, UniqueFd& file, int flags) {
    return receive_with_file(socket, into, size, file, flags);
}

}  // namespace lagtrap::daemon
