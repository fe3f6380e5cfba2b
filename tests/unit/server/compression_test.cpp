#include "server/api/compression.hpp"

#include <zlib.h>
#include <zstd.h>

#include <gtest/gtest.h>

namespace lagtrap::server::compression_test {
namespace {

std::string gunzip(const std::string& packed) {
    std::string plain(1 << 20, '\0');
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    plain.resize(stream.total_out);
    inflateEnd(&stream);
    return plain;
}

std::string unzstd(const std::string& packed) {
    std::string plain(1 << 20, '\0');
    ZSTD_DCtx* context = ZSTD_createDCtx();
    ZSTD_inBuffer input{packed.data(), packed.size(), 0};
    ZSTD_outBuffer output{plain.data(), plain.size(), 0};
    EXPECT_EQ(ZSTD_decompressStream(context, &output, &input), 0U);
    ZSTD_freeDCtx(context);
    plain.resize(output.pos);
    return plain;
}

class Pieces final : public BodySource {
  public:
    explicit Pieces(std::string text) : text_(std::move(text)) {}
    Result<std::size_t> read(char* into, std::size_t size) override {
        const std::size_t part = std::min({size, text_.size() - taken_, std::size_t{1000}});
        text_.copy(into, part, taken_);
        taken_ += part;
        return part;
    }

  private:
    std::string text_;
    std::size_t taken_ = 0;
};

std::string read_whole(BodySource& source) {
    std::string whole;
    char piece[333];
    for (;;) {
        const auto got = source.read(piece, sizeof piece);
        EXPECT_TRUE(got.ok());
        if (!got || *got == 0) return whole;
        whole.append(piece, *got);
    }
}

std::string long_text() {
    std::string text;
    for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919);
    return text;
}

TEST(Compression, IsChosenByTheHeader) {
    EXPECT_EQ(choose_encoding("gzip, deflate, br, zstd"), Encoding::Zstd);
    EXPECT_EQ(choose_encoding("gzip, deflate"), Encoding::Gzip);
    EXPECT_EQ(choose_encoding("gzip;q=0, zstd;q=0.0"), Encoding::Identity);
    EXPECT_EQ(choose_encoding("gzip;q=0.5"), Encoding::Gzip);
    EXPECT_EQ(choose_encoding("xgzip"), Encoding::Identity);
    EXPECT_EQ(choose_encoding(""), Encoding::Identity);
}

TEST(Compression, BodiesComeBack) {
    const std::string text = long_text();
    for (const Encoding encoding : {Encoding::Gzip, Encoding::Zstd}) {
        Reply reply;
        reply.body = text;
        compress_reply(reply, encoding);
        EXPECT_LT(reply.body.size(), text.size());
        EXPECT_EQ(encoding == Encoding::Gzip ? gunzip(reply.body) : unzstd(reply.body), text);
        EXPECT_EQ(reply.headers.at(0).first, "Content-Encoding");
        EXPECT_EQ(reply.headers.at(0).second, encoding == Encoding::Gzip ? "gzip" : "zstd");
        EXPECT_EQ(reply.headers.at(1).first, "Vary");
        EXPECT_EQ(reply.headers.at(1).second, "Accept-Encoding");
    }
    Reply small;
    small.body = "small";
    compress_reply(small, Encoding::Gzip);
    EXPECT_EQ(small.body, "small");
    EXPECT_TRUE(small.headers.empty());
}

TEST(Compression, IsForBodiesFromAKilobyteOn) {
    const auto is_packed = [](std::size_t size, Encoding encoding = Encoding::Zstd) {
        Reply reply;
        reply.body = std::string(size, 'x');
        compress_reply(reply, encoding);
        return reply.body.size() != size;
    };
    EXPECT_FALSE(is_packed(1023));
    EXPECT_TRUE(is_packed(1024));
    EXPECT_FALSE(is_packed(1024, Encoding::Identity));
}

TEST(Compression, IsNotDoneTwice) {
    Reply reply;
    reply.body = long_text();
    reply.headers = {{"ETag", "x"}, {"Content-Encoding", "br"}};
    compress_reply(reply, Encoding::Zstd);
    EXPECT_EQ(reply.body, long_text());
    EXPECT_EQ(reply.headers.size(), 2U);
}

TEST(Compression, StreamsComeBack) {
    const std::string text = long_text();
    for (const Encoding encoding : {Encoding::Gzip, Encoding::Zstd}) {
        Reply reply;
        reply.source = std::make_shared<Pieces>(text);
        compress_reply(reply, encoding);
        const std::string packed = read_whole(*reply.source);
        EXPECT_EQ(encoding == Encoding::Gzip ? gunzip(packed) : unzstd(packed), text);
    }
}

TEST(Compression, LeavesWhatHasALengthAsItIs) {
    Reply reply;
    reply.source = std::make_shared<Pieces>("packed already");
    reply.announced_bytes = 14;
    compress_reply(reply, Encoding::Zstd);
    EXPECT_EQ(read_whole(*reply.source), "packed already");
    EXPECT_TRUE(reply.headers.empty());
}

}  // namespace
}  // namespace lagtrap::server::compression_test
