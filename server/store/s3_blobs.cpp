#include "server/store/s3_blobs.hpp"

#include <algorithm>
#include <cstring>

#include "core/files.hpp"
#include "server/store/s3_client.hpp"
#include "server/store/scratch_folder.hpp"

namespace lagtrap::server {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t piece_bytes = 4 << 20;
constexpr std::size_t list_limit_bytes = 4 << 20;

// Reads pieces of 4 MiB and serves from the current piece.
class S3Reader : public BlobReader {
  public:
    S3Reader(S3Client& client, std::string key, std::uint64_t size_bytes)
        : client_(client), key_(std::move(key)), size_bytes_(size_bytes) {}

    std::uint64_t size_bytes() const override { return size_bytes_; }
    Result<std::size_t> read(std::uint64_t offset, char* into, std::size_t size) override {
        std::size_t done = 0;
        while (done < size && offset + done < size_bytes_) {
            const std::uint64_t at = offset + done;
            if (at < piece_at_ || at >= piece_at_ + piece_.size()) TRY(fetch(at));
            const std::size_t begin = at - piece_at_;
            const std::size_t take = std::min(size - done, piece_.size() - begin);
            std::memcpy(into + done, piece_.data() + begin, take);
            done += take;
        }
        return done;
    }

  private:
    Status fetch(std::uint64_t at) {
        const std::uint64_t last = std::min(at + piece_bytes, size_bytes_) - 1,
                            wanted = last - at + 1;
        S3Request request;
        request.key = key_;
        request.headers = {"Range: bytes=" + std::to_string(at) + "-" + std::to_string(last)};
        request.take = [&](const char* data, std::size_t size, bool fresh) {
            if (fresh) piece_.clear();
            if (piece_.size() + size > wanted) return false;
            piece_.append(data, size);
            return true;
        };
        piece_.clear();
        piece_at_ = at;
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        if (answer.status != 206 && answer.status != 200)
            return s3_error("reading a bundle", answer);
        if (piece_.size() != wanted) {
            piece_.clear();
            return make_error(ErrorKind::Busy, "S3 store: a bundle was not sent whole");
        }
        return success();
    }

    S3Client& client_;
    const std::string key_;
    const std::uint64_t size_bytes_;
    std::string piece_;
    std::uint64_t piece_at_ = 0;
};

std::string text_between(std::string_view xml, std::string_view begin, std::string_view end,
                         std::size_t& at) {
    const auto from = xml.find(begin, at);
    const auto to = from == std::string_view::npos ? from : xml.find(end, from);
    at = to;
    return to == std::string_view::npos
               ? ""
               : std::string(xml.substr(from + begin.size(), to - from - begin.size()));
}

std::string percent_encoded(std::string_view text) {
    constexpr const char* digits = "0123456789ABCDEF";
    std::string out;
    for (const char letter : text) {
        const auto byte = static_cast<unsigned char>(letter);
        if (std::isalnum(byte) != 0 || letter == '-' || letter == '.' || letter == '_' ||
            letter == '~') {
            out += letter;
        } else {
            out += '%';
            out += digits[byte >> 4];
            out += digits[byte & 15];
        }
    }
    return out;
}

class S3Blobs : public Blobs {
  public:
    S3Blobs(const S3Place& place, fs::path scratch, std::uint32_t leftovers)
        : client_(place), scratch_(std::move(scratch)), leftovers_(leftovers) {}

    Status reach() {
        S3Request request;
        request.query = "list-type=2&max-keys=1";
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        if (answer.status == 200) return success();
        return s3_error("bucket " + client_.place().bucket, answer);
    }
    Result<IncomingBlob> begin() override { return IncomingBlob::make(scratch_); }
    Status keep(IncomingBlob& blob, const std::string& digest) override {
        S3Request request;
        request.method = "PUT";
        request.key = key_of(digest);
        // The request contains the digest, so that the store verifies the bytes.
        request.payload_sha256 = digest;
        request.upload_fd = blob.fd();
        request.upload_bytes = blob.size_bytes();
        request.headers = {"If-None-Match: *", "Content-Type: application/zstd"};
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        // 412: another server was first; the same digest means the same bytes. 409: another server
        // is storing it right now.
        if (answer.status == 409) {
            TRY_ASSIGN(const auto there, size_bytes(digest));
            if (!there)
                return make_error(ErrorKind::Busy,
                                  "S3 store: another server is storing the same bundle");
        } else if (answer.status != 200 && answer.status != 412) {
            return s3_error("storing a bundle", answer);
        }
        return success();
    }
    Result<std::optional<std::uint64_t>> size_bytes(const std::string& digest) override {
        S3Request request;
        request.method = "HEAD";
        request.key = key_of(digest);
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        if (answer.status == 404) return std::optional<std::uint64_t>();
        if (answer.status != 200 || !answer.length_bytes)
            return s3_error("looking for a bundle", answer);
        return answer.length_bytes;
    }
    Result<std::unique_ptr<BlobReader>> open(const std::string& digest) override {
        TRY_ASSIGN(const auto size, size_bytes(digest));
        if (!size) return make_error(ErrorKind::NotFound, "there is no bundle " + digest);
        return std::unique_ptr<BlobReader>(
            std::make_unique<S3Reader>(client_, key_of(digest), *size));
    }
    Result<LocalBlob> local(const std::string& digest) override;
    Status remove(const std::string& digest) override {
        S3Request request;
        request.method = "DELETE";
        request.key = key_of(digest);
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        if (answer.status != 204 && answer.status != 200 && answer.status != 404)
            return s3_error("removing a bundle", answer);
        return success();
    }
    Status each(const std::function<bool(const std::string& digest)>& take) override;
    Result<std::uint64_t> free_bytes() override { return free_bytes_at(scratch_); }
    std::uint32_t leftovers_removed() const override { return leftovers_; }
    bool shared() const override { return true; }

  private:
    std::string key_of(const std::string& digest) const { return client_.place().prefix + digest; }

    S3Client client_;
    const fs::path scratch_;
    const std::uint32_t leftovers_;
};

Result<LocalBlob> S3Blobs::local(const std::string& digest) {
    TRY_ASSIGN(IncomingBlob file, IncomingBlob::make(scratch_));
    TRY_ASSIGN(const auto reader, open(digest));
    std::string piece(piece_bytes, '\0');
    for (std::uint64_t at = 0; at < reader->size_bytes();) {
        TRY_ASSIGN(const std::size_t got, reader->read(at, piece.data(), piece.size()));
        if (got == 0) break;
        TRY(file.write(piece.data(), got));
        at += got;
    }
    TRY_ASSIGN(const std::string found, file.seal());
    if (found != digest)
        return make_error(ErrorKind::Invalid,
                          "S3 store: bundle " + digest + " has changed; its digest is " + found);
    LocalBlob local(file.path(), true);
    file.forget();
    return local;
}

Status S3Blobs::each(const std::function<bool(const std::string& digest)>& take) {
    std::string token;
    do {
        std::string xml;
        S3Request request;
        // Sorted by name: continuation-token, list-type, prefix.
        request.query =
            (token.empty() ? "" : "continuation-token=" + percent_encoded(token) + "&") +
            "list-type=2" +
            (client_.place().prefix.empty() ? ""
                                            : "&prefix=" + percent_encoded(client_.place().prefix));
        request.take = [&](const char* data, std::size_t size, bool fresh) {
            if (fresh) xml.clear();
            xml.append(data, size);
            return xml.size() <= list_limit_bytes;
        };
        TRY_ASSIGN(const S3Answer answer, client_.send(request));
        if (answer.status != 200) return s3_error("listing bundles", answer);
        if (xml.size() > list_limit_bytes)
            return make_error(ErrorKind::TooLarge, "S3 store: a list has more than 4 MiB");
        for (std::size_t at = 0;;) {
            const std::string key = text_between(xml, "<Key>", "</Key>", at);
            if (key.empty()) break;
            const std::string digest =
                key.substr(std::min(client_.place().prefix.size(), key.size()));
            if (is_sha256_hex(digest) && !take(digest)) return success();
        }
        std::size_t at = 0;
        token = text_between(xml, "<NextContinuationToken>", "</NextContinuationToken>", at);
    } while (!token.empty());
    return success();
}

}  // namespace

Result<std::unique_ptr<Blobs>> open_s3_blobs(const S3Place& place, const fs::path& scratch) {
    TRY_ASSIGN(const std::uint32_t leftovers, make_empty(scratch / "incoming"));
    auto blobs = std::make_unique<S3Blobs>(place, scratch / "incoming", leftovers);
    TRY(blobs->reach());
    return std::unique_ptr<Blobs>(std::move(blobs));
}

}  // namespace lagtrap::server
