#include "server/api/http_message.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <gtest/gtest.h>

namespace lagtrap::server::http_message_test {
namespace {

namespace http = boost::beast::http;

const boost::asio::ip::address proxy = boost::asio::ip::make_address("10.0.0.5");

class HttpMessage : public testing::Test {
  protected:
    // As a proxy in front of this server sends it.
    HttpMessage() {
        message_.method(http::verb::get);
        message_.target("/api/v1/runs");
        message_.set("X-Forwarded-For", "198.51.100.7");
        message_.set("X-Forwarded-Proto", "https");
    }
    [[nodiscard]] Request from(const boost::asio::ip::address& peer) const {
        return request_of(message_, false, std::nullopt, peer, false, options_);
    }

    http::request_header<> message_;
    HttpOptions options_;
};

TEST_F(HttpMessage, WhatProxiesSayCountsOnlyIfTheServerIsBehindThem) {
    const Request request = from(proxy);
    EXPECT_EQ(request.sender, "10.0.0.5");
    EXPECT_FALSE(request.secure);
    EXPECT_TRUE(request.forwarded);
    options_.behind_proxy = true;
    const Request behind = from(proxy);
    EXPECT_EQ(behind.sender, "198.51.100.7");
    EXPECT_TRUE(behind.secure);
    EXPECT_TRUE(behind.forwarded);
}

TEST_F(HttpMessage, OnlyTrustedProxiesNameTheClient) {
    options_.behind_proxy = true;
    options_.trusted_proxies = TrustedProxies::parse({"10.0.0.0/8"}).value();
    EXPECT_EQ(from(proxy).sender, "198.51.100.7");
    const Request other = from(boost::asio::ip::make_address("192.0.2.1"));
    EXPECT_EQ(other.sender, "192.0.2.1");
    EXPECT_FALSE(other.secure);
}

TEST_F(HttpMessage, AClientThroughALocalProxyIsNotThisMachine) {
    const auto local = boost::asio::ip::make_address("127.0.0.1");
    EXPECT_TRUE(from(local).from_loopback);
    options_.behind_proxy = true;
    EXPECT_FALSE(from(local).from_loopback);
    message_.erase("X-Forwarded-For");
    EXPECT_TRUE(from(local).from_loopback);
}

TEST_F(HttpMessage, IdleTimeIsPromisedWithASecondToSpare) {
    EXPECT_EQ(promised_idle_time(std::chrono::milliseconds(10'900)), "timeout=9");
    EXPECT_EQ(promised_idle_time(std::chrono::milliseconds(900)), "timeout=0");
}

TEST_F(HttpMessage, CookiesRepeatAndOtherFieldsDoNot) {
    Reply reply;
    reply.headers = {{"Set-Cookie", "a=1"}, {"Set-Cookie", "b=2"}, {"Cache-Control", "private"}};
    http::response<http::empty_body> response;
    set_fields(response, reply, true, std::nullopt);
    EXPECT_EQ(response.count("Set-Cookie"), 2U);
    EXPECT_EQ(response.count(http::field::cache_control), 1U);
    EXPECT_EQ(response[http::field::cache_control], "private");
    EXPECT_EQ(response.count("Strict-Transport-Security"), 1U);
    EXPECT_EQ(response.count(http::field::keep_alive), 0U);
    http::response<http::empty_body> plain;
    set_fields(plain, reply, false, std::chrono::seconds(10));
    EXPECT_EQ(plain.count("Strict-Transport-Security"), 0U);
    EXPECT_EQ(plain[http::field::keep_alive], "timeout=9");
}

}  // namespace
}  // namespace lagtrap::server::http_message_test
