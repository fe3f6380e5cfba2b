// Requests and replies, independent of the HTTP library.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "server/ingest/refusal.hpp"

namespace lagtrap::server {

enum class Method { Get, Head, Post, Put, Delete, Other };

// Untrusted. Lengths are within the HTTP server's header limit.
struct Request {
    Method method = Method::Get;
    std::string target;
    std::string host;
    std::string authorization;
    std::string cookie;
    std::string origin;
    std::string fetch_site;
    std::string content_type;
    std::string content_encoding;
    std::string accept_encoding;
    std::string if_none_match;
    std::string content_digest;
    std::optional<std::uint64_t> content_length;
    bool chunked = false;
    std::string sender;          // address of the peer, or of the client that a trusted proxy names
    bool secure = false;         // over TLS, here or at a trusted proxy
    bool from_loopback = false;  // the peer is this machine, and not a trusted proxy
    // By its headers it came through a proxy, trusted or not, or --behind-proxy is set. The client
    // may be anybody.
    bool forwarded = false;
    std::string body;
};

// A reply's body that is produced piece by piece.
class BodySource {
  public:
    BodySource() = default;
    BodySource(const BodySource&) = delete;
    BodySource& operator=(const BodySource&) = delete;
    virtual ~BodySource() = default;

    // Up to `size` bytes; 0 at the end. May block on the disk or the blob store. One thread at a
    // time.
    [[nodiscard]] virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
};

struct Reply {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers{};
    // If set, replaces `body`. Sent in chunks unless the length is announced.
    std::shared_ptr<BodySource> source{};
    std::optional<std::uint64_t> announced_bytes{};
};

// {"error": {"message": ..., "hint": ...}} with its status, and Retry-After if known.
[[nodiscard]] Reply reply_of(const Refusal& refusal);
[[nodiscard]] inline Reply bad_request(const Error& error) {
    return reply_of({400, error.message});
}

}  // namespace lagtrap::server
