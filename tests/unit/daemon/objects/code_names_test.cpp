#include "daemon/objects/code_names.hpp"

#include <atomic>
#include <string>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::code_names_test {
namespace {

class CodeNamesTest : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(code_.read(MadeUpProcess::pid)); }
    // The address in the process where the function of this file begins.
    std::uint64_t begin_of(std::uint32_t file, const char* function) {
        const auto found = code_.find(file, function);
        EXPECT_EQ(found.size(), 1U);
        return found.empty() ? 0 : code_.address_of(found.front()).value_or(0);
    }

    MadeUpProcess process_{{"/opt/shop/shop", "/opt/shop/lib\nown.so"}};
    std::atomic<bool> given_up_{false};
    ProcessFiles code_{process_, given_up_};
    CodeNames names_{code_};
};

TEST_F(CodeNamesTest, AreOfTheFunctionAroundAnAddress) {
    const std::uint64_t begin = begin_of(0, "outermost_function");
    EXPECT_EQ(names_.name_of(begin), "outermost_function (shop)");
    EXPECT_EQ(names_.name_of(begin + 1), "outermost_function (shop)");
    EXPECT_EQ(names_.name_of(begin_of(0, "main")), "main (shop)");
    EXPECT_EQ(names_.name_of(begin_of(1, "main")), "main (lib\\x0aown.so)");
}

TEST_F(CodeNamesTest, AreOffsetsWhereNoFunctionIs) {
    EXPECT_EQ(names_.name_of(MadeUpProcess::distance), "shop+0x0");
    EXPECT_EQ(names_.name_of(2 * MadeUpProcess::distance + 0x10), "lib\\x0aown.so+0x10");
}

TEST_F(CodeNamesTest, AreEmptyOutsideOfFiles) {
    EXPECT_EQ(names_.name_of(0), "");
    EXPECT_EQ(names_.name_of(4 * MadeUpProcess::distance), "");
}

}  // namespace
}  // namespace lagtrap::daemon::code_names_test
