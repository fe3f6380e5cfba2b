#include "trace/logs/session_id.hpp"

#include <string>

#include <gtest/gtest.h>

namespace lagtrap::trace::session_id_test {
namespace {

const std::string good = "0b5f7c1e-8a52-4d55-9d0a-4a6f0b6b3a19";

TEST(SessionId, IsALowerCaseUuid) {
    EXPECT_TRUE(is_session_id(good));
    EXPECT_TRUE(is_session_id("00000000-9999-aaaa-ffff-000000000000"));
    EXPECT_FALSE(is_session_id(""));
    EXPECT_FALSE(is_session_id(good.substr(1)));
    EXPECT_FALSE(is_session_id(good + "0"));
}

TEST(SessionId, HasHyphensAtFourPlacesAndDigitsElsewhere) {
    for (std::size_t at = 0; at < good.size(); ++at) {
        const bool hyphen = at == 8 || at == 13 || at == 18 || at == 23;
        for (const char c : {'-', '0', '9', 'a', 'f', '/', ':', '`', 'g', 'A', 'F', '.', '\0'}) {
            std::string text = good;
            text[at] = c;
            const bool digit = c == '0' || c == '9' || c == 'a' || c == 'f';
            EXPECT_EQ(is_session_id(text), hyphen ? c == '-' : digit) << text;
        }
    }
}

}  // namespace
}  // namespace lagtrap::trace::session_id_test
