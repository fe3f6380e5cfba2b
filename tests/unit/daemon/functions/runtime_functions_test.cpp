#include "daemon/functions/runtime_functions.hpp"

#include <cstring>

#include <gtest/gtest.h>

namespace lagtrap::daemon::runtime_functions_test {
namespace {

using calls::Runtime;

lagtrap_runtime_function reported(std::uint32_t number, const std::string& scope,
                                  const std::string& name, const std::string& file = "",
                                  std::uint64_t line = 0) {
    lagtrap_runtime_function function{};
    function.number = number;
    function.line = line;
    std::strncpy(function.key.scope, scope.c_str(), sizeof function.key.scope - 1);
    std::strncpy(function.key.name, name.c_str(), sizeof function.key.name - 1);
    std::strncpy(function.file, file.c_str(), sizeof function.file - 1);
    return function;
}

TEST(RuntimeFunctionsTest, TheyAreNumberedBehindThoseOfMachineCode) {
    RuntimeFunctions functions(5, "", "");
    const auto first =
        functions.take(reported(5, "Cart", "add", "/srv/cart.rb", 7), Runtime::Ruby, false);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->name, "Cart#add");
    EXPECT_EQ(first->module, "Ruby");
    EXPECT_EQ(first->source, "/srv/cart.rb");
    EXPECT_EQ(first->line, 7U);
    EXPECT_FALSE(functions.take(reported(6, "java/util/HashMap", "put"), Runtime::Java, false));
    ASSERT_TRUE(functions.take(reported(7, "org/shop/Cart", "add"), Runtime::Java, false));
    EXPECT_EQ(functions.number_of(3), 3U) << "machine code's";
    EXPECT_EQ(functions.number_of(5), 5U);
    EXPECT_EQ(functions.number_of(6), std::nullopt);
    EXPECT_EQ(functions.number_of(7), 6U) << "those that are told of have no gaps";
    EXPECT_EQ(functions.number_of(8), std::nullopt) << "never told";
    EXPECT_EQ(functions.all_of(Runtime::Java), (std::vector<std::uint32_t>{6, 7}));
    ASSERT_EQ(functions.left_out(Runtime::Java).size(), 1U);
    EXPECT_EQ(functions.left_out(Runtime::Java).front().count, 1U);
    EXPECT_TRUE(functions.left_out(Runtime::Ruby).empty());
}

TEST(RuntimeFunctionsTest, PatternsMoveThemEitherWay) {
    RuntimeFunctions functions(0, "HashMap\\.put|#times", "secret|vendor/");
    EXPECT_TRUE(functions.take(reported(0, "java/util/HashMap", "put"), Runtime::Java, false));
    EXPECT_FALSE(functions.take(reported(1, "java/util/HashMap", "get"), Runtime::Java, false));
    EXPECT_TRUE(
        functions.take(reported(2, "Integer", "times", "/srv/cart.rb", 3), Runtime::Ruby, true));
    EXPECT_FALSE(functions.take(reported(3, "org/shop/Cart", "secret"), Runtime::Java, false));
    EXPECT_FALSE(
        functions.take(reported(4, "Cart", "add", "/srv/vendor/cart.rb", 3), Runtime::Ruby, false));
}

TEST(RuntimeFunctionsTest, TheWatchedProgramsTextsAreBounded) {
    RuntimeFunctions functions(0, "", "");
    lagtrap_runtime_function hostile{};
    std::memset(hostile.key.scope, 'a', sizeof hostile.key.scope);
    std::memset(hostile.key.name, '\n', sizeof hostile.key.name);
    std::memset(hostile.file, 0xff, sizeof hostile.file);
    hostile.line = ~0ULL;
    const auto taken = functions.take(hostile, Runtime::Ruby, false);
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->name.find('\n'), std::string::npos);
    EXPECT_LE(taken->name.size(), sizeof hostile.key * 4 + 1);
    EXPECT_FALSE(functions.take(hostile, Runtime::Ruby, false)) << "told twice";
}

}  // namespace
}  // namespace lagtrap::daemon::runtime_functions_test
