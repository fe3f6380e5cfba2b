#include <unistd.h>

#include <utility>

#include "server/store/folder_blobs.hpp"
#include "server/store/s3_blobs.hpp"

namespace lagtrap::server {

LocalBlob::LocalBlob(LocalBlob&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}

LocalBlob::~LocalBlob() {
    if (temporary_) ::unlink(path_.c_str());
}

Result<std::unique_ptr<Blobs>> open_blobs(const std::string& where,
                                          const std::filesystem::path& scratch) {
    if (where.starts_with("s3://")) {
        TRY_ASSIGN(const S3Place place, S3Place::parse(where));
        return open_s3_blobs(place, scratch);
    }
    return open_folder_blobs(where);
}

}  // namespace lagtrap::server
