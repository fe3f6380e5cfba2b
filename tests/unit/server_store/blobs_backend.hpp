// The backend of blobs in contract tests: each test program has its own make_blobs_backend().
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
    // Creates a file as left by a server that died during an upload.
    virtual void leave_behind(const std::string& name) = 0;
    [[nodiscard]] virtual std::size_t incoming() = 0;
};

[[nodiscard]] std::unique_ptr<BlobsBackend> make_blobs_backend();

}  // namespace lagtrap::server
