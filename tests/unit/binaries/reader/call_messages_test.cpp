#include "binaries/reader/call_messages.hpp"

#include <gtest/gtest.h>

#include "binaries/code/function_places.hpp"

namespace lagtrap::binaries::test::call_messages_test {
namespace {

FunctionCalls made_calls() {
    FunctionCalls calls;
    calls.symbol = "_ZN4shop4workEv";
    calls.name = "shop::work";
    calls.first_code = "\x55";
    calls.problem = "cannot be watched";
    calls.return_probe = true;
    calls.exits.resize(1);
    calls.exits[0].file_offset = 7;
    calls.callees = {0x1000, 0x2000};
    calls.slots = {{0x3000, "malloc"}, {0x3008, ""}};
    calls.indirect = {{0x40, {-8, 15, no_jump_register, 3, true}}};
    calls.goid_offset = 152;
    calls.frame_offset = max_go_offset;
    calls.entry = 0x50;
    return calls;
}

bool is_accepted(const FunctionCalls& calls) { return decode_calls(encode_calls({calls}), 1).ok(); }

TEST(CallMessages, KeepEachFact) {
    const auto read = decode_calls(encode_calls({made_calls(), FunctionCalls{}}), 2);
    ASSERT_TRUE(read) << read.error().message;
    const FunctionCalls& calls = (*read)[0];
    EXPECT_EQ(calls.symbol, "_ZN4shop4workEv");
    EXPECT_EQ(calls.name, "shop::work");
    EXPECT_EQ(calls.first_code, "\x55");
    EXPECT_EQ(calls.problem, "cannot be watched");
    EXPECT_TRUE(calls.return_probe);
    ASSERT_EQ(calls.exits.size(), 1U);
    EXPECT_EQ(calls.exits[0].file_offset, 7U);
    EXPECT_EQ(calls.callees, (std::vector<std::uint64_t>{0x1000, 0x2000}));
    ASSERT_EQ(calls.slots.size(), 2U);
    EXPECT_EQ(calls.slots[0].address, 0x3000U);
    EXPECT_EQ(calls.slots[0].symbol, "malloc");
    EXPECT_EQ(calls.slots[1].symbol, "");
    ASSERT_EQ(calls.indirect.size(), 1U);
    EXPECT_EQ(calls.indirect[0].file_offset, 0x40U);
    EXPECT_EQ(calls.indirect[0].target.displacement, -8);
    EXPECT_EQ(calls.indirect[0].target.base, 15);
    EXPECT_EQ(calls.indirect[0].target.index, no_jump_register);
    EXPECT_EQ(calls.indirect[0].target.scale_shift, 3);
    EXPECT_TRUE(calls.indirect[0].target.in_memory);
    EXPECT_EQ(calls.goid_offset, 152U);
    EXPECT_EQ(calls.frame_offset, max_go_offset);
    EXPECT_EQ(calls.entry, 0x50U);
    EXPECT_FALSE((*read)[1].return_probe);
    EXPECT_TRUE((*read)[1].callees.empty());
}

TEST(CallMessages, AreWholeAndOnePerFunction) {
    const std::string message = encode_calls({made_calls()});
    for (std::size_t size = 0; size < message.size(); ++size)
        ASSERT_FALSE(decode_calls(message.substr(0, size), 1)) << size;
    const auto longer = decode_calls(message + '\0', 1);
    ASSERT_FALSE(longer);
    EXPECT_EQ(longer.error().kind, ErrorKind::System);
    EXPECT_EQ(longer.error().message, "the file reader gave an invalid answer");
    EXPECT_FALSE(decode_calls(message, 0));
    EXPECT_FALSE(decode_calls(message, 2));
    EXPECT_TRUE(decode_calls(encode_calls({}), 0));
}

TEST(CallMessages, AreSound) {
    EXPECT_TRUE(is_accepted(made_calls()));
    const auto unsound = [](auto change) {
        FunctionCalls calls = made_calls();
        change(calls);
        EXPECT_FALSE(is_accepted(calls));
    };
    unsound([](FunctionCalls& calls) { calls.indirect[0].target.base = 16; });
    unsound([](FunctionCalls& calls) { calls.indirect[0].target.index = 16; });
    unsound([](FunctionCalls& calls) { calls.indirect[0].target.scale_shift = 4; });
    unsound([](FunctionCalls& calls) { calls.goid_offset = max_go_offset + 1; });
    unsound([](FunctionCalls& calls) { calls.frame_offset = max_go_offset + 1; });
    unsound([](FunctionCalls& calls) { calls.exits[0].target.base = 16; });
    unsound([](FunctionCalls& calls) { calls.first_code = std::string(17, 'x'); });
    unsound([](FunctionCalls& calls) { calls.callees.resize(max_callees_of_function + 1); });
    unsound([](FunctionCalls& calls) { calls.slots.resize(max_callees_of_function + 1); });
    unsound([](FunctionCalls& calls) { calls.indirect.resize(max_callees_of_function + 1); });
}

TEST(CallMessages, TextsForPeopleArePrintable) {
    FunctionCalls calls = made_calls();
    calls.name = "a\x1b";
    calls.problem = "b\x1b" + std::string(5000, 'x');
    const auto read = decode_calls(encode_calls({calls}), 1);
    ASSERT_TRUE(read);
    EXPECT_EQ((*read)[0].name.find('\x1b'), std::string::npos);
    EXPECT_EQ((*read)[0].problem.find('\x1b'), std::string::npos);
    EXPECT_EQ((*read)[0].problem.substr((*read)[0].problem.size() - 1), "x");
}

}  // namespace
}  // namespace lagtrap::binaries::test::call_messages_test
