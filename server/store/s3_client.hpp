// Requests to an S3 store, tried again while it is unwell.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/s3_blobs.hpp"

namespace lagtrap::server {

struct S3Request {
    std::string method = "GET";
    std::string key;    // of the object; empty: the bucket itself
    std::string query;  // parameters sorted by name, each with '=': the signature needs them so
    std::vector<std::string> headers{};
    std::string payload_sha256;  // hexadecimal; empty: of nothing
    int upload_fd = -1;          // body, from its beginning; read by position
    std::uint64_t upload_bytes = 0;
    // Where the body of a good answer goes; called from the beginning again with each attempt (`fresh`). False: stop.
    std::function<bool(const char* data, std::size_t size, bool fresh)> take{};
};

struct S3Answer {
    long status = 0;
    std::optional<std::uint64_t> length_bytes{};  // Content-Length
    std::optional<std::uint64_t> total_bytes{};   // of Content-Range
    std::string error_code{};                     // of the XML of a bad answer
};

// Any thread.
class S3Client {
  public:
    explicit S3Client(S3Place place) : place_(std::move(place)) {}
    S3Client(const S3Client&) = delete;
    S3Client& operator=(const S3Client&) = delete;
    ~S3Client();

    // An answer of any status below 500 but 408 and 429; after four attempts ErrorKind::Busy with what went wrong last.
    [[nodiscard]] Result<S3Answer> send(const S3Request& request);
    [[nodiscard]] const S3Place& place() const { return place_; }

  private:
    [[nodiscard]] Result<S3Answer> send_once(const S3Request& request);
    [[nodiscard]] void* take_handle();
    void give_back(void* handle);

    const S3Place place_;
    std::mutex mutex_;
    std::vector<void*> idle_;  // of libcurl, with their connections
};

// What an answer that is not what was hoped for means, without the secret.
[[nodiscard]] Error s3_error(const std::string& doing, const S3Answer& answer);

}  // namespace lagtrap::server
