#include "server/api/compression.hpp"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "core/text.hpp"

namespace lagtrap::server {
namespace {

constexpr std::size_t smallest_bytes = 1024;
constexpr int zlib_level = 4;
constexpr int zlib_gzip = 15 + 16;  // window bits, plus gzip's header instead of zlib's
constexpr int zstd_level = 3;

// A streaming compressor.
class Packer {
  public:
    Packer() = default;
    Packer(const Packer&) = delete;
    Packer& operator=(const Packer&) = delete;
    virtual ~Packer() = default;
    // Appends to `packed`; `last` ends the stream. False on failure.
    virtual bool pack(std::string_view plain, bool last, std::string& packed) = 0;
};

class GzipPacker final : public Packer {
  public:
    GzipPacker() {
        ready_ = deflateInit2(&stream_, zlib_level, Z_DEFLATED, zlib_gzip, 8, Z_DEFAULT_STRATEGY) ==
                 Z_OK;
    }
    ~GzipPacker() override {
        if (ready_) deflateEnd(&stream_);
    }
    bool pack(std::string_view plain, bool last, std::string& packed) override {
        if (!ready_) return false;
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
        stream_.avail_in = static_cast<uInt>(plain.size());
        int code = Z_OK;
        do {
            const std::size_t before = packed.size();
            packed.resize(before + room_.size());
            stream_.next_out = reinterpret_cast<Bytef*>(packed.data() + before);
            stream_.avail_out = static_cast<uInt>(room_.size());
            code = deflate(&stream_, last ? Z_FINISH : Z_NO_FLUSH);
            packed.resize(packed.size() - stream_.avail_out);
            if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return false;
        } while (stream_.avail_out == 0 || (last && code == Z_OK));
        return true;
    }

  private:
    z_stream stream_{};
    bool ready_ = false;
    std::string room_ = std::string(16384, '\0');
};

class ZstdPacker final : public Packer {
  public:
    ZstdPacker() { ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, zstd_level); }
    bool pack(std::string_view plain, bool last, std::string& packed) override {
        if (!context_) return false;
        ZSTD_inBuffer input{plain.data(), plain.size(), 0};
        const std::size_t room = ZSTD_CStreamOutSize();
        for (;;) {
            const std::size_t before = packed.size();
            packed.resize(before + room);
            ZSTD_outBuffer output{packed.data() + before, room, 0};
            const std::size_t left = ZSTD_compressStream2(context_.get(), &output, &input,
                                                          last ? ZSTD_e_end : ZSTD_e_continue);
            packed.resize(before + output.pos);
            if (ZSTD_isError(left) != 0) return false;
            if (last ? left == 0 : input.pos == input.size) return true;
        }
    }

  private:
    struct Free {
        void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
    };
    std::unique_ptr<ZSTD_CCtx, Free> context_{ZSTD_createCCtx()};
};

std::unique_ptr<Packer> make_packer(Encoding encoding) {
    if (encoding == Encoding::Gzip) return std::make_unique<GzipPacker>();
    return std::make_unique<ZstdPacker>();
}

class PackedSource final : public BodySource {
  public:
    PackedSource(std::shared_ptr<BodySource> source, Encoding encoding)
        : source_(std::move(source)), packer_(make_packer(encoding)) {}

    Result<std::size_t> read(char* into, std::size_t size) override {
        while (taken_ == packed_.size() && !ended_) {
            packed_.clear();
            taken_ = 0;
            TRY_ASSIGN(const std::size_t got, source_->read(plain_.data(), plain_.size()));
            ended_ = got == 0;
            if (!packer_->pack({plain_.data(), got}, ended_, packed_))
                return make_error(ErrorKind::System, "compressing the reply failed");
        }
        const std::size_t part = std::min(size, packed_.size() - taken_);
        std::copy_n(packed_.data() + taken_, part, into);
        taken_ += part;
        return part;
    }

  private:
    std::shared_ptr<BodySource> source_;
    std::unique_ptr<Packer> packer_;
    std::vector<char> plain_ = std::vector<char>(65536);
    std::string packed_;
    std::size_t taken_ = 0;
    bool ended_ = false;
};

}  // namespace

bool accepts_encoding(std::string_view header, std::string_view coding) {
    while (!header.empty()) {
        std::string_view item = header.substr(0, header.find(','));
        header.remove_prefix(std::min(item.size() + 1, header.size()));
        const std::string_view name = trimmed(item.substr(0, item.find(';')));
        item.remove_prefix(std::min(item.size(), item.find(';')));
        const bool refused = item.find("q=0") != std::string_view::npos &&
                             item.find_first_of("123456789") == std::string_view::npos;
        if (name == coding) return !refused;
    }
    return false;
}

Encoding choose_encoding(std::string_view accept_encoding) {
    if (accepts_encoding(accept_encoding, "zstd")) return Encoding::Zstd;
    return accepts_encoding(accept_encoding, "gzip") ? Encoding::Gzip : Encoding::Identity;
}

void compress_reply(Reply& reply, Encoding encoding) {
    for (const auto& [name, value] : reply.headers)
        if (name == "Content-Encoding") return;
    if (encoding == Encoding::Identity) return;
    if (reply.source) {
        // Replies with an announced length are bundles, which are compressed already.
        if (reply.announced_bytes) return;
        reply.source = std::make_shared<PackedSource>(std::move(reply.source), encoding);
    } else {
        if (reply.body.size() < smallest_bytes) return;
        std::string packed;
        if (!make_packer(encoding)->pack(reply.body, true, packed)) return;
        reply.body = std::move(packed);
    }
    reply.headers.emplace_back("Content-Encoding", encoding == Encoding::Gzip ? "gzip" : "zstd");
    reply.headers.emplace_back("Vary", "Accept-Encoding");
}

}  // namespace lagtrap::server
