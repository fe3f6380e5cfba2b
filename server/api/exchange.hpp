// A request and its reply as the application sees them, apart from how HTTP carries them.
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

// All of it comes from elsewhere; lengths are within the header limit of the HTTP server.
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
    std::string sender;          // address of the peer, or of whom a trusted proxy speaks for
    bool secure = false;         // by TLS, here or at a trusted proxy
    bool from_loopback = false;  // the peer is this machine and no trusted proxy speaks
    // It came through a proxy by its header, trusted or not, or by --behind-proxy: the peer may speak for anybody.
    bool forwarded = false;
    std::string body;
};

// The rest of a reply, made piece by piece.
class BodySource {
  public:
    BodySource() = default;
    BodySource(const BodySource&) = delete;
    BodySource& operator=(const BodySource&) = delete;
    virtual ~BodySource() = default;

    // Up to `size` bytes; 0: the end. May block on disk or on the blob store. One thread at a time.
    [[nodiscard]] virtual Result<std::size_t> read(char* into, std::size_t size) = 0;
};

struct Reply {
    unsigned status = 200;
    std::string content_type = "application/json";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers{};
    // Instead of `body`, where set; sent in chunks unless its length is announced.
    std::shared_ptr<BodySource> source{};
    std::optional<std::uint64_t> announced_bytes{};
};

// {"error": {"message": ..., "hint": ...}} with status, and Retry-After where it is known.
[[nodiscard]] Reply reply_of(const Refusal& refusal);
[[nodiscard]] inline Reply bad_request(const Error& error) { return reply_of({400, error.message}); }

}  // namespace lagtrap::server
