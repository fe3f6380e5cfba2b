#include "server/api/upload.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/duration.hpp"
#include "core/fault_point.hpp"
#include "core/text.hpp"
#include "server/accounts/token_file.hpp"
#include "server/api/json_reply.hpp"

namespace lagtrap::server {
namespace {

// Has both what the uploader reads and what openapi.yaml describes.
json::object stored_json(const Stored& stored) {
    return {{"digest", stored.digest},
            {"bytes", stored.bytes},
            {"stored", stored.outcome == AddOutcome::New ? "new" : "already"},
            {"bad_reason", text_or_null(stored.bad_reason)}};
}

// Uploads that were not stored, or existed already, do not count against the quota.
Reply finish_reply(UploadContext& context, const char* what,
                   const std::variant<Stored, Refusal>& outcome) {
    Counters& counters = context.application.counters();
    DailyQuota::Share quota = std::move(context.quota);
    const std::string name = std::string(what) + " " + context.digest.substr(0, 16);
    if (const auto* refusal = std::get_if<Refusal>(&outcome)) {
        ++counters.uploads_refused;
        context.parts.log(fmt::format("refused {}: {}{}", name, refusal->message,
                                      refusal->cause.empty() ? "" : " (" + refusal->cause + ")"));
        return reply_of(*refusal);
    }
    const auto& stored = std::get<Stored>(outcome);
    const bool fresh = stored.outcome == AddOutcome::New;
    if (fresh) quota.keep();
    ++(fresh ? counters.uploads_new : counters.uploads_already);
    context.parts.log(fmt::format(
        "{} {} ({}){}", fresh ? "stored" : "had already", name, format_byte_size(stored.bytes),
        context.sender.name.empty() ? "" : " from " + context.sender.name));
    Reply reply = json_reply(stored_json(stored), fresh ? 201 : 200);
    reply.headers.emplace_back("X-Lagtrap-Digest", context.digest);
    KILL_POINT("server.answering");
    return reply;
}

class BundleUpload final : public Upload {
  public:
    BundleUpload(UploadContext context, IncomingBlob blob)
        : context_(std::move(context)), blob_(std::move(blob)) {}

    Status write(const void* data, std::size_t size) override { return blob_.write(data, size); }
    Refusal refusal_of(const Error& error) override { return Ingest::refusal_of(error); }
    Reply finish() override {
        const auto outcome = context_.parts.ingest.finish_bundle(
            std::move(blob_), context_.digest, context_.sender, ClockSnapshot::take().realtime_ns);
        Reply reply = finish_reply(context_, "bundle", outcome);
        if (reply.status == 201) context_.application.remove_old_bundles();
        return reply;
    }

  private:
    UploadContext context_;
    IncomingBlob blob_;
};

class BatchUpload final : public Upload {
  public:
    BatchUpload(UploadContext context, std::uint64_t length_bytes) : context_(std::move(context)) {
        bytes_.reserve(length_bytes);
    }

    Status write(const void* data, std::size_t size) override {
        bytes_.append(static_cast<const char*>(data), size);
        return success();
    }
    Refusal refusal_of(const Error& error) override { return Ingest::refusal_of(error); }
    Reply finish() override {
        const auto outcome = context_.parts.ingest.finish_batch(
            bytes_, context_.digest, context_.sender, ClockSnapshot::take().realtime_ns);
        return finish_reply(context_, "batch", outcome);
    }

  private:
    UploadContext context_;
    std::string bytes_;
};

}  // namespace

Result<std::shared_ptr<Upload>> begin_bundle_upload(UploadContext context) {
    TRY_ASSIGN(IncomingBlob blob, context.parts.ingest.begin());
    return std::shared_ptr<Upload>(
        std::make_shared<BundleUpload>(std::move(context), std::move(blob)));
}

Result<std::shared_ptr<Upload>> begin_batch_upload(UploadContext context,
                                                   std::uint64_t length_bytes) {
    return std::shared_ptr<Upload>(std::make_shared<BatchUpload>(std::move(context), length_bytes));
}

std::optional<Refusal> check_content_digest(std::string_view header, const std::string& digest) {
    constexpr std::string_view start = "sha-256=:";
    const std::size_t at = header.find(start);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view rest = header.substr(at + start.size());
    if (hexadecimal(decode_base64(rest.substr(0, rest.find(':')))) == digest) return std::nullopt;
    return Refusal{400, "Content-Digest is not the digest in the address"};
}

Reply has_batch(const BatchStore& store, const Route& route) {
    const auto found = store.has_batch(route.arguments[0]);
    if (!found) return failure(found.error());
    if (!*found) return reply_of({404, "there is no such batch"});
    Reply reply;
    reply.content_type = "application/zstd";
    reply.headers.emplace_back("X-Lagtrap-Digest", route.arguments[0]);
    return reply;
}

}  // namespace lagtrap::server
