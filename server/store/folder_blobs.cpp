#include "server/store/folder_blobs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files.hpp"
#include "server/store/scratch_folder.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;

class FolderReader : public BlobReader {
  public:
    FolderReader(UniqueFd fd, std::uint64_t size_bytes)
        : fd_(std::move(fd)), size_bytes_(size_bytes) {}

    std::uint64_t size_bytes() const override { return size_bytes_; }
    Result<std::size_t> read(std::uint64_t offset, char* into, std::size_t size) override {
        std::size_t done = 0;
        while (done < size) {
            const ssize_t got =
                ::pread(fd_.get(), into + done, size - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return system_error("reading a bundle");
            if (got == 0) break;
            done += static_cast<std::size_t>(got);
        }
        return done;
    }

  private:
    UniqueFd fd_;
    std::uint64_t size_bytes_;
};

class FolderBlobs : public Blobs {
  public:
    FolderBlobs(fs::path folder, std::uint32_t leftovers_removed)
        : folder_(std::move(folder)), leftovers_removed_(leftovers_removed) {}

    Result<IncomingBlob> begin() override { return IncomingBlob::make(folder_ / "incoming"); }
    Status keep(IncomingBlob& blob, const std::string& digest) override {
        const fs::path target = path_of(digest);
        TRY(make_directories(target.parent_path(), blob_folder_mode));
        TRY(sync_directory(folder_ / "blobs"));
        TRY(rename_durably(blob.path(), target));
        blob.forget();
        return success();
    }
    Result<std::optional<std::uint64_t>> size_bytes(const std::string& digest) override {
        struct stat facts {};
        if (::stat(path_of(digest).c_str(), &facts) == 0)
            return std::optional(static_cast<std::uint64_t>(facts.st_size));
        if (errno == ENOENT) return std::optional<std::uint64_t>();
        return system_error(path_of(digest).string());
    }
    Result<std::unique_ptr<BlobReader>> open(const std::string& digest) override {
        TRY_ASSIGN(UniqueFd fd, open_file(path_of(digest), O_RDONLY));
        struct stat facts {};
        if (::fstat(fd.get(), &facts) != 0) return system_error(path_of(digest).string());
        return std::unique_ptr<BlobReader>(std::make_unique<FolderReader>(
            std::move(fd), static_cast<std::uint64_t>(facts.st_size)));
    }
    Result<LocalBlob> local(const std::string& digest) override {
        TRY_ASSIGN(const auto size, size_bytes(digest));
        if (!size) return make_error(ErrorKind::NotFound, "there is no bundle " + digest);
        return LocalBlob(path_of(digest), false);
    }
    Status remove(const std::string& digest) override {
        const fs::path path = path_of(digest);
        if (::unlink(path.c_str()) != 0 && errno != ENOENT)
            return system_error("removing " + path.string());
        return success();
    }
    Status each(const std::function<bool(const std::string& digest)>& take) override {
        TRY_ASSIGN(const auto folders, paths_in(folder_ / "blobs"));
        for (const fs::path& folder : folders) {
            TRY_ASSIGN(const auto files, paths_in(folder));
            for (const fs::path& file : files) {
                const std::string digest = folder.filename().string() + file.filename().string();
                if (is_sha256_hex(digest) && !take(digest)) return success();
            }
        }
        return success();
    }
    Result<std::uint64_t> free_bytes() override { return free_bytes_at(folder_); }
    std::uint32_t leftovers_removed() const override { return leftovers_removed_; }
    bool shared() const override { return false; }

  private:
    fs::path path_of(const std::string& digest) const {
        return folder_ / "blobs" / digest.substr(0, 2) / digest.substr(2);
    }

    const fs::path folder_;
    const std::uint32_t leftovers_removed_;
};

}  // namespace

Result<std::unique_ptr<Blobs>> open_folder_blobs(const fs::path& folder) {
    TRY(make_directories(folder / "blobs", blob_folder_mode));
    TRY_ASSIGN(const std::uint32_t leftovers, make_empty(folder / "incoming"));
    return std::unique_ptr<Blobs>(std::make_unique<FolderBlobs>(folder, leftovers));
}

}  // namespace lagtrap::server
