#pragma once

#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"

namespace lagtrap::binaries::test {

// Each cut of a message, and each message with more behind it, is malformed.
template <typename Decode>
void expect_whole(const std::string& message, Decode decode) {
    EXPECT_TRUE(decode(message));
    for (std::size_t size = 0; size < message.size(); ++size) {
        const auto cut = decode(message.substr(0, size));
        ASSERT_FALSE(cut) << size;
        EXPECT_EQ(cut.error().kind, ErrorKind::System);
        EXPECT_EQ(cut.error().message, "the file reader gave an invalid answer");
    }
    EXPECT_FALSE(decode(message + '\0'));
}

}  // namespace lagtrap::binaries::test
