// Stores bundles by their digest, in a folder (folder_blobs.hpp) or in an S3 store (s3_blobs.hpp).
// A blob appears completely or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "server/store/incoming_blob.hpp"

namespace lagtrap::server {

// Reads a blob piece by piece. One thread at a time.
class BlobReader {
  public:
    BlobReader() = default;
    BlobReader(const BlobReader&) = delete;
    BlobReader& operator=(const BlobReader&) = delete;
    virtual ~BlobReader() = default;

    [[nodiscard]] virtual std::uint64_t size_bytes() const = 0;
    // Up to `size` bytes from `offset`; fewer only at the end, and 0 there.
    [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t offset, char* into,
                                                   std::size_t size) = 0;
};

// A blob as a file on this machine. The destructor removes a temporary file. Movable.
class LocalBlob {
  public:
    LocalBlob(std::filesystem::path path, bool temporary)
        : path_(std::move(path)), temporary_(temporary) {}
    LocalBlob(LocalBlob&& other) noexcept;
    LocalBlob& operator=(LocalBlob&&) = delete;
    ~LocalBlob();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    bool temporary_;
};

// Any thread; blocks on disk or network. Digests must be 64 lower-case hexadecimal digits.
// ErrorKind::NotFound if there is no such blob.
class Blobs {
  public:
    Blobs() = default;
    Blobs(const Blobs&) = delete;
    Blobs& operator=(const Blobs&) = delete;
    virtual ~Blobs() = default;

    // A new blob, on this machine's disk until keep().
    [[nodiscard]] virtual Result<IncomingBlob> begin() = 0;
    // Stores a sealed blob permanently; one that already exists has the same bytes. To read the
    // blob as a file, use its own path before this call, or local() afterwards.
    [[nodiscard]] virtual Status keep(IncomingBlob& blob, const std::string& digest) = 0;

    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> size_bytes(
        const std::string& digest) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<BlobReader>> open(const std::string& digest) = 0;
    // For readers that need a file. From S3, fetches the bytes and checks their digest.
    [[nodiscard]] virtual Result<LocalBlob> local(const std::string& digest) = 0;
    // A missing blob is not an error.
    [[nodiscard]] virtual Status remove(const std::string& digest) = 0;
    // Visits every digest, in no order, until `take` returns false.
    [[nodiscard]] virtual Status each(
        const std::function<bool(const std::string& digest)>& take) = 0;
    // Free space for incoming blobs on this machine's disk.
    [[nodiscard]] virtual Result<std::uint64_t> free_bytes() = 0;
    // Incomplete blobs that were removed when the store was opened.
    [[nodiscard]] virtual std::uint32_t leftovers_removed() const = 0;
    // Whether several servers share these blobs. If so, a blob without a row may be another
    // server's upload.
    [[nodiscard]] virtual bool shared() const = 0;
};

// `where` is "s3://BUCKET[/PREFIX]?endpoint=https://HOST[:PORT][&region=NAME]" or a folder. The
// keys of an S3 store come from the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN), as does the endpoint (AWS_ENDPOINT_URL) if the address has none. `scratch` is
// a local folder for incoming and fetched blobs.
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_blobs(const std::string& where,
                                                        const std::filesystem::path& scratch);

}  // namespace lagtrap::server
