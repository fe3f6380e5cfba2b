#include "server/store/blob_store.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <system_error>

#include "core/files.hpp"

namespace lagtrap::server {

namespace fs = std::filesystem;

namespace {

constexpr unsigned folder_mode = 0750;

Result<std::vector<fs::path>> paths_in(const fs::path& folder) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::directory_iterator files(folder, error);
    for (; !error && files != fs::directory_iterator(); files.increment(error)) found.push_back(files->path());
    if (error) return system_error("listing " + folder.string(), error.value());
    return found;
}

}  // namespace

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

Result<IncomingBlob> BlobStore::begin() const { return IncomingBlob::make(directory_ / "incoming"); }

fs::path BlobStore::path_of(const std::string& digest) const {
    return directory_ / "blobs" / digest.substr(0, 2) / digest.substr(2);
}

Status BlobStore::keep(IncomingBlob& blob, const std::string& digest) const {
    const fs::path target = path_of(digest);
    TRY(make_directories(target.parent_path(), folder_mode));
    TRY(sync_directory(directory_ / "blobs"));
    TRY(rename_durably(blob.path(), target));
    blob.forget();
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
