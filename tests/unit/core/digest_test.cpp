#include "core/digest.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::digest_test {
namespace {

// From FIPS 180-2.
constexpr const char* of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* of_a_million_a =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Digest, IsSha256InLowerCase) {
    EXPECT_EQ(sha256_of("abc"), of_abc);
    EXPECT_EQ(sha256_of(""), of_nothing);
    Sha256 in_parts;
    in_parts.update("a", 1);
    in_parts.update("bcd", 2);
    EXPECT_EQ(in_parts.finish_hex(), of_abc);
}

TEST(Digest, OfAFileIsThatOfAllItsBytes) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / ("lagtrap-digest-" + std::to_string(::getpid()));
    std::ofstream(file) << std::string(1'000'000, 'a');
    const auto digest = sha256_of_file(file);
    std::filesystem::remove(file);
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_EQ(*digest, of_a_million_a);
    EXPECT_EQ(sha256_of_file(file).error().kind, ErrorKind::NotFound);
    EXPECT_FALSE(sha256_of_file("/"));
}

TEST(Digest, ATextMayBeOne) {
    EXPECT_TRUE(is_sha256_hex(of_abc));
    EXPECT_TRUE(is_sha256_hex(std::string(32, '0') + std::string(16, '9') + std::string(16, 'f')));
    EXPECT_FALSE(is_sha256_hex(""));
    EXPECT_FALSE(is_sha256_hex(std::string(63, 'a')));
    EXPECT_FALSE(is_sha256_hex(std::string(65, 'a')));
    for (const char c : {'/', ':', '`', 'g', 'A', 'F', ' '})
        EXPECT_FALSE(is_sha256_hex(std::string(63, 'a') + c)) << c;
}

TEST(RandomUuid, IsOfVersion4AndEachTimeAnother) {
    std::set<std::string> all;
    std::set<char> variants;
    for (int i = 0; i < 200; ++i) {
        const std::string uuid = random_uuid();
        ASSERT_EQ(uuid.size(), 36U);
        for (std::size_t at = 0; at < uuid.size(); ++at) {
            const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
            if (hyphen) {
                EXPECT_EQ(uuid[at], '-') << uuid;
            } else {
                EXPECT_NE(std::string("0123456789abcdef").find(uuid[at]), std::string::npos)
                    << uuid;
            }
        }
        EXPECT_EQ(uuid[14], '4') << uuid;
        variants.insert(uuid[19]);
        all.insert(uuid);
    }
    EXPECT_EQ(all.size(), 200U);
    EXPECT_EQ(variants, (std::set<char>{'8', '9', 'a', 'b'}));
}

}  // namespace
}  // namespace lagtrap::digest_test
