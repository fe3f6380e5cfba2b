#include "server/accounts/sender_network.hpp"

#include <gtest/gtest.h>

namespace lagtrap::server::sender_network_test {
namespace {

TEST(SenderNetwork, AnIpv4AddressIsOneSender) {
    EXPECT_EQ(network_of_sender("192.0.2.7"), "192.0.2.7");
    EXPECT_EQ(network_of_sender("::ffff:192.0.2.7"), "192.0.2.7");
}

TEST(SenderNetwork, AnIpv6SenderIsItsNetworkOf64Bits) {
    EXPECT_EQ(network_of_sender("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
    EXPECT_EQ(network_of_sender("2001:db8:1:2:ffff::"), "2001:db8:1:2::/64");
    EXPECT_NE(network_of_sender("2001:db8:1:3::6"), "2001:db8:1:2::/64");
}

TEST(SenderNetwork, AnyOtherTextStandsForItself) {
    EXPECT_EQ(network_of_sender("unknown"), "unknown");
    EXPECT_EQ(network_of_sender(""), "");
    EXPECT_EQ(network_of_sender(std::string(4000, 'x')), std::string(4000, 'x'));
}

TEST(LastElement, IsWhatTheNearestProxyAdded) {
    EXPECT_EQ(last_element({"http, https"}), "https");
    EXPECT_EQ(last_element({"https", "http"}), "http");
    EXPECT_EQ(last_element({"https", " , "}), "https");
    EXPECT_EQ(last_element({}), "");
}

TEST(ForwardingFields, AreKnownHoweverTheyAreWritten) {
    for (const char* name : {"Via", "via", "Forwarded", "X-Forwarded-For", "x-forwarded-PROTO",
                             "X-Forwarded-", "X-Real-Ip"})
        EXPECT_TRUE(is_forwarding_field(name)) << name;
    for (const char* name : {"", "X-Forwarded", "Viable", "Host", "Forward", "X-Real-IPs"})
        EXPECT_FALSE(is_forwarding_field(name)) << name;
}

TEST(TrustedProxies, KnowsItsNetworks) {
    const auto proxies =
        TrustedProxies::parse({"10.0.0.0/8", "2001:db8::/33", "192.0.2.1"}).value();
    EXPECT_TRUE(proxies.contains("10.255.0.1"));
    EXPECT_TRUE(proxies.contains("::ffff:10.1.2.3"));
    EXPECT_TRUE(proxies.contains("2001:db8:7fff::1"));
    EXPECT_TRUE(proxies.contains("192.0.2.1"));
    EXPECT_FALSE(proxies.contains("11.0.0.1"));
    EXPECT_FALSE(proxies.contains("2001:db8:8000::1"));
    EXPECT_FALSE(proxies.contains("192.0.2.2"));
    EXPECT_FALSE(proxies.contains("nonsense"));
}

TEST(TrustedProxies, TakesTheLastAddressThatIsNoProxys) {
    const auto proxies = TrustedProxies::parse({"10.0.0.0/8"}).value();
    EXPECT_EQ(proxies.sender_of({"203.0.113.9, 198.51.100.4, 10.0.0.7"}), "198.51.100.4");
    EXPECT_EQ(proxies.sender_of({"203.0.113.9", "198.51.100.4", "10.0.0.7,10.0.0.8"}),
              "198.51.100.4");
    EXPECT_EQ(proxies.sender_of({"10.0.0.7"}), "10.0.0.7");
    EXPECT_EQ(proxies.sender_of({"10.0.0.9, 10.0.0.7"}), "10.0.0.7");
    EXPECT_EQ(proxies.sender_of({}), std::nullopt);
}

TEST(TrustedProxies, WithoutNetworksTakesTheLastOfAllLines) {
    const TrustedProxies none;
    EXPECT_EQ(none.sender_of({"203.0.113.9", "198.51.100.4"}), "198.51.100.4");
}

TEST(TrustedProxies, RefusesWhatIsNoNetwork) {
    for (const char* text : {"", "10.0.0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1",
                             "2001:db8::/129", "proxy.example", "10.0.0.0/8x"}) {
        const auto proxies = TrustedProxies::parse({text});
        ASSERT_FALSE(proxies) << text;
        EXPECT_NE(proxies.error().message.find("10.0.0.0/8 or 2001:db8::/32"), std::string::npos)
            << text;
    }
}

}  // namespace
}  // namespace lagtrap::server::sender_network_test
