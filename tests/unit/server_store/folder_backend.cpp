#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/unit/server_store/blobs_backend.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;

class FolderBackend : public BlobsBackend {
  public:
    FolderBackend() {
        std::string pattern = fs::temp_directory_path() / "lagtrap-blobs-XXXXXX";
        if (::mkdtemp(pattern.data()) != nullptr) folder_ = pattern;
    }
    ~FolderBackend() override { fs::remove_all(folder_); }

    Result<std::unique_ptr<Blobs>> open() override {
        return open_blobs(folder_, folder_ / "unused");
    }
    void leave_behind(const std::string& name) override {
        std::ofstream(folder_ / "incoming" / name) << "half";
    }
    std::size_t incoming() override {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(folder_ / "incoming"), {}));
    }

  private:
    fs::path folder_;
};

}  // namespace

std::unique_ptr<BlobsBackend> make_blobs_backend() { return std::make_unique<FolderBackend>(); }

}  // namespace lagtrap::server
