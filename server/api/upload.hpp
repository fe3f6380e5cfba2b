// Uploads of bundles and batches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "server/api/application.hpp"
#include "server/api/service.hpp"
#include "server/api/upload_limits.hpp"

namespace lagtrap::server {

struct UploadContext {
    Application& application;
    Parts& parts;
    UploadPlace place;
    DailyQuota::Share quota;
    Sender sender;
    std::string digest;
};

[[nodiscard]] Result<std::shared_ptr<Upload>> begin_bundle_upload(UploadContext context);
[[nodiscard]] Result<std::shared_ptr<Upload>> begin_batch_upload(UploadContext context,
                                                                 std::uint64_t length_bytes);

// Checks a Content-Digest (RFC 9530) "sha-256=:BASE64:" against `digest`, the body's SHA-256.
// nullopt if it matches, is empty or has only other algorithms.
[[nodiscard]] std::optional<Refusal> check_content_digest(std::string_view header,
                                                          const std::string& digest);

// HEAD of a batch.
[[nodiscard]] Reply has_batch(const BatchStore& store, const Route& route);

}  // namespace lagtrap::server
