#include "trace/names/function_sources.hpp"

#include <gtest/gtest.h>

namespace lagtrap::trace::function_sources_test {
namespace {

class FunctionSourcesTest : public testing::Test {
  protected:
    static constexpr std::uint32_t pid = 7;

    static calls::Function function(const std::string& module, std::uint64_t entry) {
        calls::Function made;
        made.module = module;
        made.entry = entry;
        return made;
    }
    ModuleId map(const std::string& path, const std::string& build_id, std::uint32_t by) {
        return modules_.intern(path, build_id, 0, 0, {by, 0, 0});
    }
    void locate(FrameId frame, std::string_view source, std::uint32_t line,
                FrameId inlined_into = no_frame) {
        stacks_.frames()[frame].source = stacks_.intern_name(source);
        stacks_.frames()[frame].line = line;
        stacks_.frames()[frame].inlined_into = inlined_into;
    }
    void ask(const std::set<std::uint32_t>& wanted) {
        sources_.ask(stacks_, modules_, pid, functions_, wanted);
    }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_{spaces_, 1 << 20};
    std::vector<calls::Function> functions_;
    FunctionSources sources_;
};

TEST_F(FunctionSourcesTest, AreOfTheFunctionThatOthersAreInlinedInto) {
    map("/usr/bin/shop", "one", pid);
    functions_ = {function("/usr/bin/shop", 0x100), function("/usr/bin/shop", 0x200)};
    ask({0, 1});
    ASSERT_EQ(stacks_.frames().size(), 2U);
    stacks_.frames().emplace_back();
    stacks_.frames().emplace_back();
    locate(0, "vector.h", 900, 2);
    locate(2, "cart.h", 30, 3);
    locate(3, "shop.cpp", 12);
    locate(1, "shop.cpp", 80);
    sources_.fill(stacks_, functions_);
    EXPECT_EQ(functions_[0].source, "shop.cpp");
    EXPECT_EQ(functions_[0].line, 12U);
    EXPECT_EQ(functions_[1].line, 80U);
}

TEST_F(FunctionSourcesTest, AreAskedForInTheFileThatTheProcessHadMapped) {
    const ModuleId others = map("/usr/lib/libcart.so", "old", 8);
    const ModuleId own = map("/usr/lib/libcart.so", "new", pid);
    const ModuleId only = map("/usr/lib/libonly.so", "one", 8);
    map("/usr/lib/libtwo.so", "one", 8);
    map("/usr/lib/libtwo.so", "two", 9);
    functions_ = {function("/usr/lib/libcart.so", 0x10), function("/usr/lib/libonly.so", 0x20),
                  function("/usr/lib/libtwo.so", 0x30), function("/usr/lib/libnone.so", 0x40)};
    ask({0, 1, 2, 3});
    ASSERT_EQ(stacks_.frames().size(), 2U) << "it is unknown which of two files it is";
    EXPECT_NE(own, others);
    EXPECT_EQ(stacks_.frames()[0].module, own);
    EXPECT_EQ(stacks_.frames()[0].offset, 0x10U);
    EXPECT_EQ(stacks_.frames()[1].module, only);
}

TEST_F(FunctionSourcesTest, AreAskedForWhereWantedAndStayUnknownIfNotFound) {
    map("/usr/bin/shop", "one", pid);
    functions_ = {function("/usr/bin/shop", 0x100), function("/usr/bin/shop", 0x200)};
    ask({1, 2});
    ASSERT_EQ(stacks_.frames().size(), 1U);
    EXPECT_EQ(stacks_.frames()[0].offset, 0x200U);
    sources_.fill(stacks_, functions_);
    EXPECT_EQ(functions_[1].source, "");
    EXPECT_EQ(functions_[1].line, 0U);
}

}  // namespace
}  // namespace lagtrap::trace::function_sources_test
