#include "trace/bundle/unpacked_stream.hpp"

#include <fcntl.h>
#include <zstd.h>

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/unique_fd.hpp"
#include "tests/unit/trace/temporary_directory.hpp"

namespace lagtrap::trace::unpacked_stream_test {
namespace {

std::string packed(const std::string& content) {
    std::string bytes(ZSTD_compressBound(content.size()), '\0');
    bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), content.data(), content.size(), 3));
    return bytes;
}

// The content, read in pieces of `piece` bytes, or the error as "KIND: MESSAGE".
std::string unpacked(const std::string& file, UnpackLimits limits = {}, std::size_t piece = 7) {
    const TemporaryDirectory folder;
    const auto path = folder.path() / "file";
    std::ofstream(path, std::ios::binary) << file;
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    UnpackedStream stream(fd.get(), limits);
    std::string content, buffer(piece, '\0');
    for (;;) {
        const auto got = stream.read(buffer.data(), buffer.size());
        if (!got)
            return (got.error().kind == ErrorKind::Invalid    ? "invalid: "
                    : got.error().kind == ErrorKind::TooLarge ? "too large: "
                                                              : "other: ") +
                   got.error().message;
        content.append(buffer, 0, *got);
        if (*got < piece) return content;
    }
}

TEST(UnpackedStream, UnpacksAFileOfOneOrSeveralFramesInPieces) {
    EXPECT_EQ(unpacked(packed("one two three")), "one two three");
    EXPECT_EQ(unpacked(packed("one two") + packed("three")), "one twothree");
    EXPECT_EQ(unpacked(packed("1234567")), "1234567");
    EXPECT_EQ(unpacked(packed("")), "");
    EXPECT_EQ(unpacked(""), "");
    const std::string large(300'000, 'x');
    EXPECT_EQ(unpacked(packed(large), {}, 100'000), large);
}

TEST(UnpackedStream, RefusesFilesThatAreDamagedOrCutShort) {
    const std::string file = packed("one two three");
    EXPECT_EQ(unpacked(file.substr(0, file.size() - 1)), "invalid: it is cut short");
    EXPECT_EQ(unpacked(file.substr(0, 3)), "invalid: it is cut short");
    EXPECT_TRUE(unpacked("no zstd file").starts_with("invalid: it is damaged: "));
    EXPECT_TRUE(unpacked(file + "more").starts_with("invalid: it is "));
}

TEST(UnpackedStream, LimitsExpansionBeyondTheFreeBytes) {
    const std::string large(300'000, 'x');
    const std::string file = packed(large);
    ASSERT_LT(file.size(), 3000U);
    UnpackLimits limits;
    limits.max_expansion = 100;
    limits.free_bytes = large.size();
    EXPECT_EQ(unpacked(file, limits, 50'000), large);
    --limits.free_bytes;
    EXPECT_EQ(unpacked(file, limits, 50'000),
              "too large: unpacks to more than 100 times its size, as no recording does");
    limits.free_bytes = 0;
    limits.max_expansion = large.size() / file.size();
    EXPECT_EQ(unpacked(file, limits, 50'000), large);
}

}  // namespace
}  // namespace lagtrap::trace::unpacked_stream_test
