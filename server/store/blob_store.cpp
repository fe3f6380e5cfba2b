#include "server/store/blob_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <system_error>

#include "core/files.hpp"

namespace lagtrap::server {

namespace fs = std::filesystem;

namespace {

constexpr unsigned folder_mode = 0750;
constexpr unsigned blob_mode = 0640;

Result<std::vector<fs::path>> paths_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::directory_iterator files(folder, error);
    for (; !error && files != fs::directory_iterator(); files.increment(error)) found.push_back(files->path());
    if (error) return system_error("listing " + folder.string(), error.value());
    return found;
}

}  // namespace

IncomingBlob::IncomingBlob(IncomingBlob&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      digest_(std::move(other.digest_)),
      size_bytes_(other.size_bytes_) {}

IncomingBlob::~IncomingBlob() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Status IncomingBlob::write(const void* data, std::size_t size) {
    if (auto status = write_all(fd_.get(), data, size); !status) return status.error().within("storing the bundle");
    digest_.update(data, size);
    size_bytes_ += size;
    return success();
}

Result<std::string> IncomingBlob::seal() {
    if (::fsync(fd_.get()) != 0) return system_error("storing the bundle");
    return digest_.finish_hex();
}

Result<BlobStore> BlobStore::open(const fs::path& directory) {
    BlobStore store(directory);
    TRY(make_directories(directory / "blobs", folder_mode));
    TRY(make_directories(directory / "incoming", folder_mode));
    TRY_ASSIGN(const auto leftovers, paths_in(directory / "incoming"));
    for (const fs::path& leftover : leftovers) {
        if (::unlink(leftover.c_str()) != 0) return system_error("removing " + leftover.string());
        ++store.leftovers_removed_;
    }
    return store;
}

Result<IncomingBlob> BlobStore::begin() const {
    std::string path = directory_ / "incoming" / "XXXXXX";
    UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd.valid()) return system_error("storing the bundle");
    if (::fchmod(fd.get(), blob_mode) != 0) return system_error("chmod " + path);
    return IncomingBlob(std::move(fd), path);
}

fs::path BlobStore::path_of(const std::string& digest) const {
    return directory_ / "blobs" / digest.substr(0, 2) / digest.substr(2);
}

Status BlobStore::keep(IncomingBlob& blob, const std::string& digest) const {
    const fs::path target = path_of(digest);
    TRY(make_directories(target.parent_path(), folder_mode));
    TRY(sync_directory(directory_ / "blobs"));
    TRY(rename_durably(blob.path_, target));
    blob.path_.clear();
    return success();
}

Status BlobStore::remove(const std::string& digest) const {
    const fs::path path = path_of(digest);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("removing " + path.string());
    return success();
}

Result<std::vector<std::string>> BlobStore::digests() const {
    std::vector<std::string> found;
    TRY_ASSIGN(const auto folders, paths_in(directory_ / "blobs"));
    for (const fs::path& folder : folders) {
        TRY_ASSIGN(const auto files, paths_in(folder));
        for (const fs::path& file : files) {
            std::string digest = folder.filename().string() + file.filename().string();
            if (is_sha256_hex(digest)) found.push_back(std::move(digest));
        }
    }
    return found;
}

Result<std::uint64_t> BlobStore::free_bytes() const {
    struct statvfs facts {};
    if (::statvfs(directory_.c_str(), &facts) != 0) return system_error(directory_.string());
    return static_cast<std::uint64_t>(facts.f_bavail) * facts.f_frsize;
}

}  // namespace lagtrap::server
