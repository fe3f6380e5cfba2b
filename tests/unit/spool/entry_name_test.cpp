#include "spool/entry_name.hpp"

#include <string>

#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::spool::entry_name_test {
namespace {

TEST(EntryName, IsTakenApartAndPutTogether) {
    const std::string session = "0a1b2c3d-0000-4000-8000-0123456789ab";
    const std::string name = make_bundle_name(session, sha256_of("x"));
    EXPECT_EQ(name, session + "-2d711642b726b044.lagtrap.tar.zst");
    const auto parsed = parse_entry_name(name);
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->id, session);
    EXPECT_EQ(parsed->digest_prefix, "2d711642b726b044");
    EXPECT_EQ(parsed->kind, EntryKind::Bundle);
}

TEST(EntryName, OfABatchIsTakenApartToo) {
    const std::string batch = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    const std::string name = make_batch_name(batch, sha256_of("x"));
    EXPECT_EQ(name, batch + "-" + sha256_of("x").substr(0, 16) + ".runs.zst");
    const auto parsed = parse_entry_name(name);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->id, batch);
    EXPECT_EQ(parsed->digest_prefix, sha256_of("x").substr(0, 16));
    EXPECT_EQ(parsed->kind, EntryKind::Batch);
    EXPECT_EQ(parse_entry_name(make_bundle_name(batch, sha256_of("x")))->kind, EntryKind::Bundle);
    EXPECT_FALSE(parse_entry_name("x" + name));
    EXPECT_FALSE(parse_entry_name(name + ".zst"));
}

TEST(EntryName, OfSpansIsTakenApartToo) {
    const std::string session = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a11";
    const std::string name = make_spans_name(session, sha256_of("x"));
    EXPECT_EQ(name, session + "-" + sha256_of("x").substr(0, 16) + ".otlp.pb");
    ASSERT_TRUE(parse_entry_name(name));
    EXPECT_EQ(parse_entry_name(name)->kind, EntryKind::Spans);
    EXPECT_EQ(parse_entry_name(name)->id, session);
}

TEST(EntryName, RefusesEverythingElse) {
    const std::string good =
        "0a1b2c3d-0000-4000-8000-0123456789ab-2d711642b726b044.lagtrap.tar.zst";
    ASSERT_TRUE(parse_entry_name(good));
    EXPECT_FALSE(parse_entry_name(""));
    EXPECT_FALSE(parse_entry_name("." + good));
    EXPECT_FALSE(parse_entry_name(good + ".reason"));
    EXPECT_FALSE(parse_entry_name("../" + good.substr(3)));
    for (std::size_t i = 0; i < good.size(); ++i) {
        std::string changed = good;
        changed[i] = '/';
        EXPECT_FALSE(parse_entry_name(changed)) << i;
    }
}

}  // namespace
}  // namespace lagtrap::spool::entry_name_test
