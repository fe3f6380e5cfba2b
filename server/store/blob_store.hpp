// The bytes of the bundles in a folder, by their digest: blobs/ab/cdef... A blob appears whole or not at all:
// it is written into incoming/, synced, and renamed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "server/store/incoming_blob.hpp"

namespace lagtrap::server {

// Functions may be called from any thread.
class BlobStore {
  public:
    // Makes the folders, and removes what an earlier run left in incoming/. One server uses a folder.
    [[nodiscard]] static Result<BlobStore> open(const std::filesystem::path& directory);

    [[nodiscard]] Result<IncomingBlob> begin() const;
    // Gives a sealed blob its place; one that is there already is replaced by the same bytes.
    [[nodiscard]] Status keep(IncomingBlob& blob, const std::string& digest) const;
    // `digest` is 64 lower-case hexadecimal digits; the caller has checked it.
    [[nodiscard]] std::filesystem::path path_of(const std::string& digest) const;
    // What is not there is no error.
    [[nodiscard]] Status remove(const std::string& digest) const;
    [[nodiscard]] Result<std::vector<std::string>> digests() const;
    // Room on the disk for this user.
    [[nodiscard]] Result<std::uint64_t> free_bytes() const;
    [[nodiscard]] std::uint32_t leftovers_removed() const { return leftovers_removed_; }

  private:
    explicit BlobStore(std::filesystem::path directory) : directory_(std::move(directory)) {}

    std::filesystem::path directory_;
    std::uint32_t leftovers_removed_ = 0;
};

}  // namespace lagtrap::server
