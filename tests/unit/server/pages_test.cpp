#include "server/api/pages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/digest.hpp"

namespace lagtrap::server {
namespace {

using testing::HasSubstr;
using testing::Not;

BundleRow hostile_row() {
    BundleRow row;
    row.number = 7;
    row.digest = sha256_of("x");
    row.bytes = 2048;
    row.facts = {
        "0a1b2c3d-0000-4000-8000-0123456789ab", "<script>alert(1)</script>", "a\"b'c&d", "<img>", 1, 81'000'000, 3};
    return row;
}

TEST(Page, EscapesEveryTextOfABundle) {
    BundleRow bad = hostile_row();
    bad.bad_reason = "<b>no</b>";
    bad.sender = "<i>";
    const std::string page = list_page({hostile_row(), bad}, 50, {2, 4096, 1, 3});
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, Not(HasSubstr("<b>")));
    EXPECT_THAT(page, Not(HasSubstr("<i>")));
    EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
    EXPECT_THAT(page, HasSubstr("a&quot;b&#39;c&amp;d"));
    EXPECT_THAT(page, HasSubstr("81.0 ms"));
    EXPECT_THAT(page, HasSubstr("2 bundles with 3 delays, 4.00 KiB; 1 can not be read"));
}

TEST(Page, SaysWhatToDoWhenItIsEmpty) {
    EXPECT_THAT(list_page({}, 50, {}), HasSubstr("Nothing here"));
    EXPECT_THAT(list_page({}, 50, {}), Not(HasSubstr("Older")));
}

TEST(Page, LeadsToOlderBundlesWhenItIsFull) {
    EXPECT_THAT(list_page({hostile_row()}, 1, {}), HasSubstr("href=\"/?limit=1&amp;before=7\""));
    EXPECT_THAT(list_json({hostile_row()}, 1), HasSubstr("\"next\":7"));
    EXPECT_THAT(list_json({hostile_row()}, 2), HasSubstr("\"next\":null"));
}

TEST(Json, SaysWhatBecameOfAnUpload) {
    const std::string digest = sha256_of("x");
    EXPECT_EQ(stored_json({digest, 12, AddOutcome::New, ""}),
              "{\"digest\":\"" + digest + "\",\"bytes\":12,\"stored\":\"new\"}\n");
    EXPECT_THAT(stored_json({digest, 12, AddOutcome::Already, "torn"}),
                HasSubstr("\"stored\":\"already\",\"bad\":\"torn\""));
    EXPECT_EQ(error_json("a \"b\"\n"), "{\"error\":\"a \\\"b\\\"\\\\x0a\"}\n");
}

}  // namespace
}  // namespace lagtrap::server
