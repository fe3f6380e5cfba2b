#include "daemon/kernel/own_code.hpp"

#include <cstring>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap::daemon {

[[gnu::noinline]] void own_code_of_test() { asm volatile("nop; nop; nop"); }

namespace {

TEST(OwnFileOffset, IsWhereTheFunctionIsInTheProgram) {
    own_code_of_test();
    const auto offset = own_file_offset(own_code_of_test);
    ASSERT_TRUE(offset);
    std::ifstream program("/proc/self/exe", std::ios::binary);
    program.seekg(static_cast<std::streamoff>(*offset));
    std::string bytes(8, '\0');
    program.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_EQ(
        std::memcmp(bytes.data(), reinterpret_cast<const void*>(own_code_of_test), bytes.size()),
        0);
}

TEST(OwnFileOffset, IsNoneOutsideTheProgram) {
    int on_stack = 0;
    EXPECT_FALSE(own_file_offset(reinterpret_cast<void (*)()>(&on_stack)));
    EXPECT_FALSE(own_file_offset(nullptr));
}

}  // namespace
}  // namespace lagtrap::daemon
