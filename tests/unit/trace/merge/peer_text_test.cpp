#include "trace/merge/peer_text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

namespace lagtrap::trace::peer_text_test {
namespace {

std::string text_of(int family, const char* address, std::uint16_t port,
                    std::uint16_t protocol = IPPROTO_TCP) {
    lagtrap_peer peer{};
    peer.family = static_cast<std::uint16_t>(family);
    peer.port = port;
    peer.protocol = protocol;
    ::inet_pton(family == AF_INET ? AF_INET : AF_INET6, address, peer.address);
    return peer_text({reinterpret_cast<const char*>(&peer), sizeof peer});
}

TEST(PeerText, AddressesHaveTheirPortAndUdpIsNamed) {
    EXPECT_EQ(text_of(AF_INET, "127.0.0.1", 5432), "127.0.0.1:5432");
    EXPECT_EQ(text_of(AF_INET6, "::1", 443), "[::1]:443");
    EXPECT_EQ(text_of(AF_INET6, "::ffff:10.1.2.3", 80), "10.1.2.3:80");
    EXPECT_EQ(text_of(AF_INET, "10.0.0.1", 53, IPPROTO_UDP), "10.0.0.1:53 (UDP)");
}

TEST(PeerText, OtherBytesAreNoAddress) {
    EXPECT_EQ(text_of(AF_UNIX, "::1", 1), "");
    EXPECT_EQ(peer_text("short"), "");
    EXPECT_EQ(peer_text(""), "");
}

TEST(PeerText, KindsWithAPeerAreOfSockets) {
    for (const unsigned kind :
         {LAGTRAP_FILE_PEER, LAGTRAP_FILE_CONNECTING, LAGTRAP_FILE_DATAGRAM_PEER,
          LAGTRAP_FILE_SYN_REPEATED, LAGTRAP_FILE_CONNECT_REFUSED}) {
        EXPECT_TRUE(has_peer(kind)) << kind;
        EXPECT_TRUE(is_of_socket(kind)) << kind;
    }
    for (const unsigned kind : {LAGTRAP_FILE_LOCAL_PEER, LAGTRAP_FILE_OWNER, LAGTRAP_FILE_LISTENER,
                                LAGTRAP_FILE_FULL_LISTENER, LAGTRAP_FILE_PIPE}) {
        EXPECT_FALSE(has_peer(kind)) << kind;
        EXPECT_TRUE(is_of_socket(kind)) << kind;
    }
    for (const unsigned kind : {0U, 1U, 2U, 3U, 4U, 99U}) EXPECT_FALSE(is_of_socket(kind)) << kind;
}

}  // namespace
}  // namespace lagtrap::trace::peer_text_test
