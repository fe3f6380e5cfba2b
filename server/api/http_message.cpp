#include "server/api/http_message.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <boost/beast/http/verb.hpp>
#include <fmt/format.h>

#include "server/accounts/sender_network.hpp"

namespace lagtrap::server {
namespace {

namespace http = boost::beast::http;

Method method_of(http::verb verb) {
    switch (verb) {
        case http::verb::get: return Method::Get;
        case http::verb::head: return Method::Head;
        case http::verb::post: return Method::Post;
        case http::verb::put: return Method::Put;
        case http::verb::delete_: return Method::Delete;
        default: return Method::Other;
    }
}

// All values of a header, which may be repeated, in the order received.
std::vector<std::string_view> values_of(const http::request_header<>& message,
                                        std::string_view field) {
    std::vector<std::string_view> values;
    const auto range = message.equal_range(field);
    for (auto line = range.first; line != range.second; ++line) values.emplace_back(line->value());
    return values;
}

void believe_proxy(const http::request_header<>& message, const TrustedProxies& proxies,
                   Request& request) {
    if (!proxies.empty() && !proxies.contains(request.sender)) return;
    const auto sender = proxies.sender_of(values_of(message, "X-Forwarded-For"));
    if (!sender) return;
    request.sender = *sender;
    request.from_loopback = false;
    request.secure =
        request.secure || last_element(values_of(message, "X-Forwarded-Proto")) == "https";
}

}  // namespace

Request request_of(const boost::beast::http::request_header<>& message, bool chunked,
                   std::optional<std::uint64_t> length_bytes, const boost::asio::ip::address& peer,
                   bool is_tls, const HttpOptions& options) {
    const auto text = [&message](auto field) { return std::string(message[field]); };
    Request request;
    request.method = method_of(message.method());
    request.target = std::string(message.target());
    request.host = text(http::field::host);
    request.authorization = text(http::field::authorization);
    request.cookie = text(http::field::cookie);
    request.origin = text(http::field::origin);
    request.fetch_site = text("Sec-Fetch-Site");
    request.content_type = text(http::field::content_type);
    request.content_encoding = text(http::field::content_encoding);
    request.accept_encoding = text(http::field::accept_encoding);
    request.if_none_match = text(http::field::if_none_match);
    request.content_digest = text("Content-Digest");
    request.chunked = chunked;
    request.content_length = length_bytes;
    request.secure = is_tls;
    request.sender = peer.to_string();
    request.from_loopback = peer.is_loopback();
    request.forwarded =
        options.behind_proxy || std::any_of(message.begin(), message.end(), [](const auto& field) {
            return is_forwarding_field({field.name_string().data(), field.name_string().size()});
        });
    if (options.behind_proxy) believe_proxy(message, options.trusted_proxies, request);
    return request;
}

std::string promised_idle_time(std::chrono::milliseconds idle_limit) {
    const auto idle = std::chrono::floor<std::chrono::seconds>(idle_limit);
    return fmt::format("timeout={}", std::max<std::int64_t>(idle.count() - 1, 0));
}

}  // namespace lagtrap::server
