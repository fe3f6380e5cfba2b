// What the contract tests of blobs run against: each program of tests brings its own make_blobs_backend().
#pragma once

#include <memory>
#include <string>

#include "server/store/blobs.hpp"

namespace lagtrap::server {

class BlobsBackend {
  public:
    BlobsBackend() = default;
    BlobsBackend(const BlobsBackend&) = delete;
    BlobsBackend& operator=(const BlobsBackend&) = delete;
    virtual ~BlobsBackend() = default;

    // Each call opens the same blobs.
    [[nodiscard]] virtual Result<std::unique_ptr<Blobs>> open() = 0;
    // A file left by a server that died in the middle of an upload.
    virtual void leave_behind(const std::string& name) = 0;
    [[nodiscard]] virtual std::size_t incoming() = 0;
};

[[nodiscard]] std::unique_ptr<BlobsBackend> make_blobs_backend();

}  // namespace lagtrap::server
