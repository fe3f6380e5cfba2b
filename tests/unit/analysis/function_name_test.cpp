#include "analysis/function_name.hpp"

#include <gtest/gtest.h>

namespace lagtrap::analysis::function_name_test {
namespace {

TEST(ShortFunctionName, LeavesOutWhatTellsLittle) {
    EXPECT_EQ(short_function_name("work"), "work");
    EXPECT_EQ(short_function_name("shop::Cart::add(int, long) const"), "shop::Cart::add");
    EXPECT_EQ(short_function_name("int shop::twice<int>(int)"), "shop::twice<int>");
    EXPECT_EQ(short_function_name("shop::(anonymous namespace)::work(int)"), "shop::work");
}

TEST(ShortFunctionName, LeavesOutArgumentsOfTemplatesThatFillALine) {
    const auto name_of = [](std::size_t size) {
        return "shop::f<" + std::string(size - 9, 'x') + ">";
    };
    EXPECT_EQ(short_function_name(name_of(60)), name_of(60));
    EXPECT_EQ(short_function_name(name_of(61)).find('x'), std::string::npos);
}

TEST(FunctionWords, NameALibraryButNoProgram) {
    EXPECT_EQ(function_words("deflate(int)", "/usr/lib/libz.so.1"), "deflate (libz)");
    EXPECT_EQ(function_words("deflate", "libz.so"), "deflate (libz)");
    EXPECT_EQ(function_words("serve", "/usr/bin/app"), "serve");
    EXPECT_EQ(function_words("serve", "/usr/bin/libreoffice"), "serve");
}

TEST(FunctionWords, SayWhoseCodeHasNoNames) {
    EXPECT_EQ(function_words("[redis-server]", "/usr/bin/redis-server"),
              "unnamed code of redis-server");
    EXPECT_EQ(function_words("[jit]", "[jit]"), "JIT code without names (no perf map)");
}

}  // namespace
}  // namespace lagtrap::analysis::function_name_test
