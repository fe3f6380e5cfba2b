#include "server/alerts/receiver_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/alerts/sender.hpp"

namespace lagtrap::server::receiver_address_test {
namespace {

sockaddr_storage address_of(const char* text) {
    sockaddr_storage storage{};
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&storage);
    storage.ss_family = AF_INET;
    if (::inet_pton(AF_INET, text, &ipv4->sin_addr) == 1) return storage;
    storage.ss_family = AF_INET6;
    EXPECT_EQ(::inet_pton(AF_INET6, text, &ipv6->sin6_addr), 1) << text;
    return storage;
}

bool is_local(const char* text) {
    const sockaddr_storage storage = address_of(text);
    return is_local_receiver(reinterpret_cast<const sockaddr&>(storage));
}

TEST(ReceiverAddress, OwnLinksAndMetadataAreLocal) {
    for (const char* text :
         {"127.0.0.1", "127.255.0.9", "0.0.0.0", "169.254.169.254", "169.254.1.1",
          "100.100.100.200", "192.0.0.192", "::1", "::", "fe80::1", "febf::1", "::ffff:127.0.0.1",
          "::ffff:169.254.169.254", "64:ff9b::7f00:1", "fd00:ec2::254", "fd20:ce::254"})
        EXPECT_TRUE(is_local(text)) << text;
    for (const char* text :
         {"10.0.0.1", "192.168.1.1", "128.0.0.1", "169.253.1.1", "8.8.8.8", "2001:db8::1",
          "fec0::1", "fd00:ec2::253", "::ffff:10.0.0.1", "64:ff9b::808:808"})
        EXPECT_FALSE(is_local(text)) << text;
}

TEST(ReceiverAddress, OtherFamiliesAreLocal) {
    sockaddr_storage storage{};
    storage.ss_family = AF_UNIX;
    EXPECT_TRUE(is_local_receiver(reinterpret_cast<const sockaddr&>(storage)));
    EXPECT_EQ(address_text(reinterpret_cast<const sockaddr&>(storage)), "");
}

TEST(Sender, SendsNothingToThisMachineUnlessItMay) {
    const std::atomic<bool> stopping{false};
    for (const char* host : {"127.0.0.1", "localhost", "[::1]", "0.0.0.0", "0x7f.1"}) {
        const Outgoing outgoing{.url = std::string("http://") + host + ":1/hook", .body = "{}"};
        const auto sent = send_out(outgoing, Receivers::NotLocal, stopping);
        ASSERT_FALSE(sent.ok()) << host;
        EXPECT_EQ(sent.error().kind, ErrorKind::Denied) << host << ": " << sent.error().message;
        EXPECT_THAT(sent.error().message, testing::HasSubstr("--allow-local-receivers"));
        // Nothing listens on port 1.
        EXPECT_EQ(send_out(outgoing, Receivers::Any, stopping).error().kind, ErrorKind::System)
            << host;
    }
}

}  // namespace
}  // namespace lagtrap::server::receiver_address_test
