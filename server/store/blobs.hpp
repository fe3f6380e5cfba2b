// The bytes of bundles by their digest, behind one interface: in a folder (folder_blobs.hpp) or in an S3 store
// (s3_blobs.hpp). A blob appears whole or not at all.
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
    // From `offset` on up to `size` bytes, fewer only at the end; 0 there.
    [[nodiscard]] virtual Result<std::size_t> read(std::uint64_t offset, char* into, std::size_t size) = 0;
};

// A blob as a file on this machine; a temporary one goes with it. Movable.
class LocalBlob {
  public:
    LocalBlob(std::filesystem::path path, bool temporary) : path_(std::move(path)), temporary_(temporary) {}
    LocalBlob(LocalBlob&& other) noexcept;
    LocalBlob& operator=(LocalBlob&&) = delete;
    ~LocalBlob();
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
    bool temporary_;
};

// Functions may be called from any thread and block on disk or network. Digests are 64 lower-case hexadecimal digits;
// the caller has checked it. ErrorKind::NotFound: no such blob.
class Blobs {
  public:
    Blobs() = default;
    Blobs(const Blobs&) = delete;
    Blobs& operator=(const Blobs&) = delete;
    virtual ~Blobs() = default;

    // A new blob, on this machine's disk until keep().
    [[nodiscard]] virtual Result<IncomingBlob> begin() = 0;
    // Gives a sealed blob its place for good; one that is there already has the same bytes. Whoever wants to read it as
    // a file reads it before, at the blob's own path, or afterwards by local().
    [[nodiscard]] virtual Status keep(IncomingBlob& blob, const std::string& digest) = 0;

    [[nodiscard]] virtual Result<std::optional<std::uint64_t>> size_bytes(const std::string& digest) = 0;
    [[nodiscard]] virtual Result<std::unique_ptr<BlobReader>> open(const std::string& digest) = 0;
    // For readers that need a file. From S3 the bytes are fetched and their digest is checked.
    [[nodiscard]] virtual Result<LocalBlob> local(const std::string& digest) = 0;
    // What is not there is no error.
    [[nodiscard]] virtual Status remove(const std::string& digest) = 0;
    // Every digest, in no order, until `take` gives false.
    [[nodiscard]] virtual Status each(const std::function<bool(const std::string& digest)>& take) = 0;
    // Room for incoming blobs on this machine's disk.
    [[nodiscard]] virtual Result<std::uint64_t> free_bytes() = 0;
    // Half-received blobs that were removed at open.
    [[nodiscard]] virtual std::uint32_t leftovers_removed() const = 0;
    // Whether several servers share these blobs: then a blob without a row may be another server's upload.
    [[nodiscard]] virtual bool shared() const = 0;
};

// `where`: "s3://BUCKET[/PREFIX]?endpoint=https://HOST[:PORT][&region=NAME]" or a folder. An S3 store's keys are those
// of the environment, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), and the endpoint AWS_ENDPOINT_URL
// where the address has none. `scratch`: folder of this machine for incoming and fetched blobs.
[[nodiscard]] Result<std::unique_ptr<Blobs>> open_blobs(const std::string& where, const std::filesystem::path& scratch);

}  // namespace lagtrap::server
