// Blobs in an S3 store, one object each, named PREFIX + digest. Uses libcurl with requests signed
// by AWS Signature Version 4, and path-style addresses, which every S3 store supports.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "server/store/blobs.hpp"

namespace lagtrap::server {

struct S3Place {
    std::string endpoint;  // "https://HOST[:PORT]", without a path
    std::string bucket;
    std::string prefix;  // empty, or ends with '/'
    std::string region = "us-east-1";
    std::string key_id, secret, session_token;

    // Parses "s3://BUCKET[/PREFIX]?endpoint=...&region=..."; the rest comes from the environment
    // (open_blobs()).
    [[nodiscard]] static Result<S3Place> parse(const std::string& address);
};

// Checks that the bucket can be reached. `scratch`: see open_blobs().
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_s3_blobs(const S3Place& place,
                                                           const std::filesystem::path& scratch);

}  // namespace lagtrap::server
