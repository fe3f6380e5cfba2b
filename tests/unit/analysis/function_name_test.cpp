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

}  // namespace
}  // namespace lagtrap::analysis::function_name_test
