// Bundles and batches on their way in.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "server/api/application.hpp"
#include "server/api/service.hpp"

namespace lagtrap::server {

// One of the uploads that may run at once; given back when it goes.
class UploadPlace {
  public:
    UploadPlace(std::atomic<std::uint32_t>& count, std::uint32_t limit) : count_(&count) {
        if (++count <= limit) return;
        --count;
        count_ = nullptr;
    }
    UploadPlace(UploadPlace&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
    UploadPlace& operator=(UploadPlace&&) = delete;
    ~UploadPlace() {
        if (count_ != nullptr) --*count_;
    }
    [[nodiscard]] bool valid() const { return count_ != nullptr; }

  private:
    std::atomic<std::uint32_t>* count_;
};

struct UploadContext {
    Application& application;
    Parts& parts;
    UploadPlace place;
    DailyQuota::Share quota;
    Sender sender;
    std::string digest;
};

[[nodiscard]] Result<std::shared_ptr<Upload>> begin_bundle_upload(UploadContext context);
[[nodiscard]] Result<std::shared_ptr<Upload>> begin_batch_upload(UploadContext context, std::uint64_t length_bytes);

// RFC 9530: what is wrong with "sha-256=:BASE64:" where the body's SHA-256 shall be `digest`; nothing where it fits, is
// empty or speaks of other sums.
[[nodiscard]] std::optional<Refusal> check_content_digest(std::string_view header, const std::string& digest);

// HEAD of a batch.
[[nodiscard]] Reply has_batch(RunStore& store, const Route& route);

}  // namespace lagtrap::server
