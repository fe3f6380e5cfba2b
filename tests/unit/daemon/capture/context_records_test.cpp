#include "daemon/capture/context_records.hpp"

#include <cstring>

#include <gmock/gmock.h>

namespace lagtrap::daemon::context_records_test {
namespace {

using testing::ElementsAre;

std::string text_behind(const RecordBuffer& records, std::size_t head_bytes) {
    std::string text;
    records.for_each([&](const lagtrap_record* record) {
        text.assign(reinterpret_cast<const char*>(record) + head_bytes,
                    record->size_bytes - head_bytes);
    });
    return text;
}

TEST(ContextRecordsTest, NameOnlyWantedAttributes) {
    EXPECT_THAT(wanted_keys({"a", "b", "c"}, {"c", "a", "x"}), ElementsAre("a", "", "c"));
    const RecordBuffer record = context_keys_record(7, {"a", "", "c"}, 5);
    EXPECT_EQ(text_behind(record, sizeof(lagtrap_context_keys)), std::string("a\0\0c\0", 5));
    record.for_each([](const lagtrap_record* one) {
        EXPECT_EQ(one->type, LAGTRAP_RECORD_CONTEXT_KEYS);
        EXPECT_EQ(one->at_ns, 5U);
        EXPECT_EQ(reinterpret_cast<const lagtrap_context_keys*>(one)->pid, 7U);
        EXPECT_EQ(reinterpret_cast<const lagtrap_context_keys*>(one)->text_bytes, 5U);
    });
    EXPECT_EQ(text_behind(context_keys_record(7, {}, 5), sizeof(lagtrap_context_keys)), "");
}

TEST(ContextRecordsTest, HaveOnlyAttributesWithNames) {
    const auto kept = [](const std::string& attributes) {
        std::vector<std::uint64_t> words((sizeof(lagtrap_context) + attributes.size() + 7) / 8);
        auto& record = *reinterpret_cast<lagtrap_context*>(words.data());
        record.tid = 9;
        record.attribute_bytes = static_cast<std::uint16_t>(attributes.size());
        std::memcpy(&record + 1, attributes.data(), attributes.size());
        const RecordBuffer found = context_record(record, {"a", "", "c"});
        found.for_each([](const lagtrap_record* one) {
            EXPECT_EQ(reinterpret_cast<const lagtrap_context*>(one)->tid, 9U);
            EXPECT_EQ(one->size_bytes,
                      sizeof(lagtrap_context) +
                          reinterpret_cast<const lagtrap_context*>(one)->attribute_bytes);
        });
        return text_behind(found, sizeof(lagtrap_context));
    };
    const std::string a("\0\1x", 3), secret("\1\6hidden", 8), c("\2\2yz", 4), other("\3\1w", 3);
    EXPECT_EQ(kept(a + secret + c + other + a), a + c + a);
    EXPECT_EQ(kept(secret), "");
    EXPECT_EQ(kept(""), "");
    EXPECT_EQ(kept(a + "\2"), a);
    EXPECT_EQ(kept(a + std::string("\2\3yz")), a) << "the last one is not complete";
}

}  // namespace
}  // namespace lagtrap::daemon::context_records_test
