#include "trace/merge/peer_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

namespace lagtrap::trace {

std::string peer_text(std::string_view bytes) {
    lagtrap_peer peer{};
    if (bytes.size() < sizeof(peer)) return {};
    std::memcpy(&peer, bytes.data(), sizeof(peer));
    if (peer.family != AF_INET && peer.family != AF_INET6) return {};
    const bool is_4_in_6 = peer.family == AF_INET6 &&
                           IN6_IS_ADDR_V4MAPPED(reinterpret_cast<const in6_addr*>(peer.address));
    const bool is_4 = peer.family == AF_INET || is_4_in_6;
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(is_4 ? AF_INET : AF_INET6, peer.address + (is_4_in_6 ? 12 : 0), text.data(),
              text.size());
    const std::string address = is_4 ? text.data() : "[" + std::string(text.data()) + "]";
    return address + ":" + std::to_string(peer.port) +
           (peer.protocol == IPPROTO_UDP ? " (UDP)" : "");
}

bool has_peer(unsigned kind) {
    return kind == LAGTRAP_FILE_PEER || kind == LAGTRAP_FILE_CONNECTING ||
           kind == LAGTRAP_FILE_DATAGRAM_PEER || kind == LAGTRAP_FILE_SYN_REPEATED ||
           kind == LAGTRAP_FILE_CONNECT_REFUSED;
}

bool is_of_socket(unsigned kind) {
    return has_peer(kind) || kind == LAGTRAP_FILE_LOCAL_PEER || kind == LAGTRAP_FILE_OWNER ||
           kind == LAGTRAP_FILE_LISTENER || kind == LAGTRAP_FILE_FULL_LISTENER ||
           kind == LAGTRAP_FILE_PIPE;
}

}  // namespace lagtrap::trace
