#include <gtest/gtest.h>

#include "binaries/elf/function_symbols.hpp"
#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::mini_debug_image_test {
namespace {

Result<ElfImage> unpacked(const char* program, std::uint64_t limit_bytes = max_mini_debug_bytes) {
    auto image = ElfImage::open(store_folder / program);
    if (!image) return image.error();
    return mini_debug_image(*image, limit_bytes);
}

TEST(MiniDebugImage, HasTheSymbolsOfAStrippedProgram) {
    const auto image = unpacked("libstore.mini.so");
    ASSERT_TRUE(image) << image.error().message;
    EXPECT_NE(image->find_section(".symtab"), nullptr);
}

TEST(MiniDebugImage, IsNotUnpackedBeyondItsLimit) {
    const auto image = unpacked("libstore.mini.so", 100);
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::TooLarge) << image.error().message;
}

TEST(MiniDebugImage, IsMissingInOtherPrograms) {
    const auto image = unpacked("libstore.stripped.so");
    ASSERT_FALSE(image);
    EXPECT_EQ(image.error().kind, ErrorKind::NotFound) << image.error().message;
}

}  // namespace
}  // namespace lagtrap::binaries::test::mini_debug_image_test
