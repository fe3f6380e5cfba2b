// Sends requests to an S3 store, with retries.
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
    std::string query;  // parameters sorted by name, each with '=', as the signature needs them
    std::vector<std::string> headers{};
    std::string payload_sha256;  // hexadecimal; empty: an empty body
    int upload_fd = -1;          // body, from its beginning; read by position
    std::uint64_t upload_bytes = 0;
    // Receives the body of a successful answer. A retry starts from the beginning (`fresh`). Return
    // false to stop.
    std::function<bool(const char* data, std::size_t size, bool fresh)> take{};
};

struct S3Answer {
    long status = 0;
    std::optional<std::uint64_t> length_bytes{};  // Content-Length
    std::optional<std::uint64_t> total_bytes{};   // from Content-Range
    std::string error_code{};                     // from the XML of an error
};

// Any thread.
class S3Client {
  public:
    explicit S3Client(S3Place place) : place_(std::move(place)) {}
    S3Client(const S3Client&) = delete;
    S3Client& operator=(const S3Client&) = delete;
    ~S3Client();

    // Returns any answer with a status below 500 except 408 and 429. After four attempts,
    // ErrorKind::Busy with the last problem.
    [[nodiscard]] Result<S3Answer> send(const S3Request& request);
    [[nodiscard]] const S3Place& place() const { return place_; }

  private:
    [[nodiscard]] Result<S3Answer> send_once(const S3Request& request);
    [[nodiscard]] void* take_handle();
    void give_back(void* handle);

    const S3Place place_;
    std::mutex mutex_;
    std::vector<void*> idle_;  // handles of libcurl, with their connections
};

// The error for an unexpected answer, without secrets.
[[nodiscard]] Error s3_error(const std::string& doing, const S3Answer& answer);

}  // namespace lagtrap::server
