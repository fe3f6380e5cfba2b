#include "server/store/incoming_blob.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "core/fault_point.hpp"
#include "core/files.hpp"

namespace lagtrap::server {

Result<IncomingBlob> IncomingBlob::make(const std::filesystem::path& folder) {
    std::string path = folder / "XXXXXX";
    UniqueFd fd(::mkostemp(path.data(), O_CLOEXEC));
    if (!fd.valid()) return system_error("storing the bundle");
    return IncomingBlob(std::move(fd), path);
}

IncomingBlob::IncomingBlob(IncomingBlob&& other) noexcept
    : fd_(std::move(other.fd_)),
      path_(std::exchange(other.path_, {})),
      digest_(std::move(other.digest_)),
      size_bytes_(other.size_bytes_) {}

IncomingBlob::~IncomingBlob() {
    if (!path_.empty()) ::unlink(path_.c_str());
}

Status IncomingBlob::write(const void* data, std::size_t size) {
    FAULT_POINT("server.receiving");
    if (auto status = write_all(fd_.get(), data, size); !status)
        return status.error().within("storing the bundle");
    digest_.update(data, size);
    size_bytes_ += size;
    return success();
}

Result<std::string> IncomingBlob::seal() {
    if (::fsync(fd_.get()) != 0) return system_error("storing the bundle");
    FAULT_POINT("server.received");
    return digest_.finish_hex();
}

}  // namespace lagtrap::server
