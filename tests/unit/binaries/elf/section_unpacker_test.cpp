#include "binaries/elf/section_unpacker.hpp"

#include <zlib.h>
#include <zstd.h>

#include <gtest/gtest.h>

namespace lagtrap::binaries::test::section_unpacker_test {
namespace {

constexpr std::uint32_t zlib = 1, zstd = 2;

std::string content() {
    std::string text;
    for (int i = 0; i < 5000; ++i) text += "line " + std::to_string(i * i) + "\n";
    return text;
}

std::string packed(std::uint32_t type, const std::string& text) {
    std::string bytes(::compressBound(text.size()) + ZSTD_compressBound(text.size()), '\0');
    if (type == zlib) {
        uLongf size = bytes.size();
        ::compress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                   reinterpret_cast<const Bytef*>(text.data()), text.size());
        bytes.resize(size);
    } else {
        bytes.resize(ZSTD_compress(bytes.data(), bytes.size(), text.data(), text.size(), 3));
    }
    return bytes;
}

// Gives the bytes in pieces of this size.
PackedSource source_of(const std::string& bytes, std::size_t piece = 1000) {
    return [bytes, piece, at = std::size_t{0}]() mutable -> Result<std::string> {
        std::string next = bytes.substr(std::min(at, bytes.size()), piece);
        at += next.size();
        return next;
    };
}

Result<std::string> unpacked(std::uint32_t type, const PackedSource& source, std::uint64_t size) {
    std::string into(size + 1, '#');
    const Status status = unpack_section(type, source, into.data(), size);
    EXPECT_EQ(into.back(), '#') << "written beyond the end";
    into.pop_back();
    if (!status) return status.error();
    return into;
}

class SectionUnpacker : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(SectionUnpacker, UnpacksWhatWasPacked) {
    const std::string text = content(), bytes = packed(GetParam(), text);
    for (const std::size_t piece : {1UL, 1000UL, bytes.size()}) {
        const auto found = unpacked(GetParam(), source_of(bytes, piece), text.size());
        ASSERT_TRUE(found) << found.error().message;
        EXPECT_EQ(*found, text);
    }
    EXPECT_EQ(unpacked(GetParam(), source_of(packed(GetParam(), "")), 0).value(), "");
}

TEST_P(SectionUnpacker, RefusesAnotherSize) {
    const std::string text = content(), bytes = packed(GetParam(), text);
    for (const std::uint64_t size : {text.size() - 1, text.size() + 1, std::size_t{0}}) {
        const auto found = unpacked(GetParam(), source_of(bytes), size);
        ASSERT_FALSE(found) << size;
        EXPECT_EQ(found.error().kind, ErrorKind::Invalid);
        EXPECT_EQ(found.error().message, "its compressed data is damaged");
    }
}

TEST_P(SectionUnpacker, RefusesDamage) {
    const std::string text = content(), bytes = packed(GetParam(), text);
    EXPECT_EQ(unpacked(GetParam(), source_of(bytes.substr(0, bytes.size() / 2)), text.size())
                  .error()
                  .kind,
              ErrorKind::Invalid);
    EXPECT_EQ(unpacked(GetParam(), source_of(""), 0).error().kind, ErrorKind::Invalid);
    std::string other = bytes;
    other[0] = '\x55';
    EXPECT_EQ(unpacked(GetParam(), source_of(other), text.size()).error().kind, ErrorKind::Invalid);
}

TEST_P(SectionUnpacker, PassesOnErrorsOfItsSource) {
    const auto found = unpacked(
        GetParam(), [] { return make_error(ErrorKind::System, "cannot read"); }, 5);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message, "cannot read");
}

INSTANTIATE_TEST_SUITE_P(Types, SectionUnpacker, ::testing::Values(zlib, zstd),
                         [](const auto& type) { return type.param == zlib ? "zlib" : "zstd"; });

TEST(SectionUnpackerTypes, OthersAreUnsupported) {
    for (const std::uint32_t type : {0U, 3U}) {
        const auto found = unpacked(type, source_of("x"), 1);
        ASSERT_FALSE(found);
        EXPECT_EQ(found.error().kind, ErrorKind::Unsupported);
        EXPECT_EQ(found.error().message, "its compression type is " + std::to_string(type) +
                                             "; expected zlib (1) or zstd (2)");
    }
}

}  // namespace
}  // namespace lagtrap::binaries::test::section_unpacker_test
