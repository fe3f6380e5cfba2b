#include "trace/names/python_names.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace lagtrap::trace::python_names_test {
namespace {

class PythonNamesTest : public testing::Test {
  protected:
    static constexpr std::uint64_t code = 0x7f00'1230;

    void describe(std::uint32_t pid, std::string_view name, std::string_view path,
                  std::uint32_t line = 7) {
        lagtrap_python_code record{};
        record.code = code;
        record.pid = pid;
        record.line = line;
        record.name_character_bytes = record.path_character_bytes = 1;
        record.name_bytes = static_cast<__u16>(name.copy(record.name, sizeof(record.name)));
        record.path_bytes = static_cast<__u16>(path.copy(record.path, sizeof(record.path)));
        names_.take(record);
    }
    // The frame of the function in a stack of the process, called by a native function.
    const CodeFrame& frame(std::uint32_t pid, std::uint64_t outer = LAGTRAP_PYTHON_FRAME | code) {
        std::vector<std::uint64_t> words(sizeof(lagtrap_stack) / 8);
        words.insert(words.end(), {0x1000, outer});
        auto* const stack = reinterpret_cast<lagtrap_stack*>(words.data());
        stack->stack_id = pid;
        stack->pid = pid;
        stack->kind = LAGTRAP_STACK_USER;
        stack->frame_count = 2;
        stacks_.add(*stack);
        names_.name(stacks_);
        return stacks_.frames()[stacks_.frames_of(*stacks_.find(pid))[1]];
    }
    std::string name(std::uint32_t pid) { return stacks_.name(frame(pid).name); }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_{spaces_, 1 << 20};
    PythonNames names_;
};

TEST_F(PythonNamesTest, AreThoseOfTheProcess) {
    describe(10, "Cart.add", "/srv/cart.py");
    describe(20, "work", "/srv/other.py", 0xffff'ffff);
    EXPECT_EQ(name(10), "Cart.add");
    EXPECT_EQ(stacks_.name(frame(10).source), "/srv/cart.py");
    EXPECT_EQ(frame(10).line, 7U);
    EXPECT_EQ(frame(10).module, jit_module);
    EXPECT_EQ(name(20), "work");
    EXPECT_EQ(frame(20).line, 0U);
    EXPECT_EQ(frame(30).name, no_name);
    EXPECT_EQ(frame(30).module, unknown_module);
}

TEST_F(PythonNamesTest, NoOtherAddressIsAFunction) {
    describe(10, "Cart.add", "/srv/cart.py");
    constexpr std::uint64_t vsyscall = 0xffff'ffff'ff60'0008;
    EXPECT_EQ(frame(10, vsyscall).offset, vsyscall - 1) << "the call is before it";
    EXPECT_EQ(frame(20, code).name, no_name);
}

TEST_F(PythonNamesTest, TheLastTimeCounts) {
    describe(10, "before", "/srv/cart.py");
    describe(10, "after", "/srv/cart.py");
    EXPECT_EQ(name(10), "after");
}

TEST_F(PythonNamesTest, WhatEachFileHasIsNamedWithTheFile) {
    describe(10, "<module>", "/srv/cart.py");
    EXPECT_EQ(name(10), "<module> (cart.py)");
}

TEST_F(PythonNamesTest, AreMadePrintable) {
    describe(10, "a\x1b[31m\nb", "");
    EXPECT_EQ(name(10).find('\x1b'), std::string::npos);
    EXPECT_EQ(frame(10).source, no_name);
}

TEST(PythonText, BecomesUtf8) {
    EXPECT_EQ(python_text("caf\xe9", 1), "caf\u00e9");
    EXPECT_EQ(python_text({"\x21\x04\x22\x04", 4}, 2), "\u0421\u0422");
    EXPECT_EQ(python_text({"\x00\xf6\x01\x00\x00\xd8\x00\x00\xff\xff\xff\xff", 12}, 4),
              "\U0001f600\ufffd\ufffd");
    EXPECT_EQ(python_text({"\x21\x04\x22", 3}, 2), "\u0421") << "half a character";
    EXPECT_EQ(python_text("abc", 3), "");
    EXPECT_EQ(python_text("", 1), "");
}

}  // namespace
}  // namespace lagtrap::trace::python_names_test
