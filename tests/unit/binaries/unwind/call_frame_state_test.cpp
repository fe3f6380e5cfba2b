// What one place's unwind information means, and which rule of the stack walk expresses it.
#include "binaries/unwind/call_frame_state.hpp"

#include <gtest/gtest.h>

namespace lagtrap::binaries::call_frame_state_test {
namespace {

using namespace std::string_view_literals;
using Cfa = CfaRule::Form;
using Saved = SavedRegister::Form;

// CFA at rsp + 16, with the return address right below it.
CallFrameState usual() {
    CallFrameState state;
    state.cfa = {Cfa::Register, false, register_rsp, 16, 0};
    state.return_address = {Saved::AtCfa, 0, -8};
    return state;
}

unsigned kind_of(const CallFrameState& state, bool signal_frame = false) {
    return rule_of(state, signal_frame).kind_and_rbp & 15U;
}
unsigned rbp_of(const CallFrameState& state) { return rule_of(state, false).kind_and_rbp >> 4U; }

TEST(CallFrameState, ARegisterPlusAnOffsetIsARule) {
    CallFrameState state = usual();
    const auto rule = rule_of(state, false);
    EXPECT_EQ(rule.kind_and_rbp, LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(rule.cfa_offset, 16);
    EXPECT_EQ(rule.register_and_add, 7);
    EXPECT_EQ(rule.rbx_words, 0);
    state.cfa.register_number = 15;
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_REGISTER);
    state.cfa.register_number = 16;
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    for (const Cfa form : {Cfa::Unset, Cfa::Unclear}) {
        state = usual();
        state.cfa.form = form;
        EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    }
    state = usual();
    state.cfa.form = Cfa::Plt;
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_PLT);
}

TEST(CallFrameState, OffsetsHave24Bits) {
    constexpr std::int64_t max = (1 << 23) - 1;
    CallFrameState state = usual();
    for (const std::int64_t offset : {max, -max}) {
        state.cfa.offset = offset;
        EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_REGISTER);
        EXPECT_EQ(rule_of(state, false).cfa_offset, offset);
    }
    for (const std::int64_t offset : {max + 1, -max - 1}) {
        state.cfa.offset = offset;
        EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    }
}

TEST(CallFrameState, ADereferencedCfaMayAddUpTo15Words) {
    CallFrameState state = usual();
    state.cfa.form = Cfa::Dereference;
    for (const std::int64_t addend : {0, 8, 120}) {
        state.cfa.addend = addend;
        EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_DEREFERENCE);
        EXPECT_EQ(rule_of(state, false).register_and_add, 7 | addend / 8 << 4);
    }
    for (const std::int64_t addend : {-8, 4, 128}) {
        state.cfa.addend = addend;
        EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    }
}

TEST(CallFrameState, TheReturnAddressIsBelowTheCfaOrUndefined) {
    CallFrameState state = usual();
    state.return_address = {Saved::Undefined, 0, 0};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_END);
    EXPECT_EQ(kind_of(state, true), LAGTRAP_UNWIND_END);
    state.return_address = {Saved::AtCfa, 0, -16};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    state.return_address = {};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    state.return_address = {Saved::AtRegister, register_rsp, 8};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_REGISTER);
    state.return_address = {Saved::AtRegister, register_rbp, 8};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    state = usual();
    state.rsp = {Saved::IsCfa, 0, 0};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_REGISTER);
    state.rsp = {Saved::IsCfa, 0, 8};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
    state.rsp = {Saved::Same, 0, 0};
    EXPECT_EQ(kind_of(state), LAGTRAP_UNWIND_UNSUPPORTED);
}

TEST(CallFrameState, TheCallersRbpIsAtTheCfaOrAtRbp) {
    CallFrameState state = usual();
    const auto offset = [&] { return rule_of(state, false).rbp_offset; };
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_SAME);
    state.rbp = {Saved::Same, 0, 0};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_SAME);
    state.rbp = {Saved::AtCfa, 0, -16};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_AT_CFA);
    EXPECT_EQ(offset(), -16);
    state.rbp = {Saved::AtRegister, register_rsp, 4};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_AT_CFA);
    EXPECT_EQ(offset(), -12);
    state.rbp = {Saved::AtRegister, register_rbp, -24};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_AT_RBP);
    EXPECT_EQ(offset(), -24);
    state.rbp = {Saved::AtCfa, 0, 32767};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_AT_CFA);
    state.rbp = {Saved::AtCfa, 0, -32769};
    EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_UNDEFINED);
    for (const SavedRegister& lost :
         {SavedRegister{Saved::AtCfa, 0, 32768},
          SavedRegister{Saved::AtRegister, register_rbp, 32768},
          SavedRegister{Saved::AtRegister, register_rbx, 8}, SavedRegister{Saved::Undefined, 0, 0},
          SavedRegister{Saved::IsCfa, 0, 0}, SavedRegister{Saved::Unclear, 0, 0}}) {
        state.rbp = lost;
        EXPECT_EQ(rbp_of(state), LAGTRAP_UNWIND_RBP_UNDEFINED);
        EXPECT_EQ(offset(), 0);
    }
}

TEST(CallFrameState, TheCallersRbxIsAtMost127WordsFromTheCfa) {
    const auto words = [](const SavedRegister& rbx) {
        CallFrameState state = usual();
        state.rbx = rbx;
        return int{rule_of(state, false).rbx_words};
    };
    EXPECT_EQ(words({Saved::Same, 0, 8}), 0);
    EXPECT_EQ(words({Saved::AtCfa, 0, -24}), -3);
    EXPECT_EQ(words({Saved::AtCfa, 0, 127 * 8}), 127);
    EXPECT_EQ(words({Saved::AtCfa, 0, -127 * 8}), -127);
    for (const std::int64_t offset : {128 * 8, -128 * 8, 0, -12})
        EXPECT_EQ(words({Saved::AtCfa, 0, offset}), LAGTRAP_UNWIND_RBX_UNKNOWN);
    EXPECT_EQ(words({Saved::Undefined, 0, 0}), LAGTRAP_UNWIND_RBX_UNKNOWN);
}

TEST(CallFrameState, OnlyTheKernelsSignalFrameIsKnown) {
    CallFrameState state;
    state.cfa = {Cfa::Dereference, true, register_rsp, 160, 0};
    state.rbp = {Saved::AtRegister, register_rsp, 120};
    state.return_address = {Saved::AtRegister, register_rsp, 168};
    EXPECT_EQ(kind_of(state, true), LAGTRAP_UNWIND_SIGNAL);
    EXPECT_EQ(kind_of(state, false), LAGTRAP_UNWIND_UNSUPPORTED);
    CallFrameState other = state;
    other.cfa.offset = 168;
    EXPECT_EQ(kind_of(other, true), LAGTRAP_UNWIND_UNSUPPORTED);
    other = state;
    other.cfa.addend = 8;
    EXPECT_EQ(kind_of(other, true), LAGTRAP_UNWIND_UNSUPPORTED);
    other = state;
    other.rbp.offset = 128;
    EXPECT_EQ(kind_of(other, true), LAGTRAP_UNWIND_UNSUPPORTED);
    other = state;
    other.return_address.register_number = register_rbp;
    EXPECT_EQ(kind_of(other, true), LAGTRAP_UNWIND_UNSUPPORTED);
    EXPECT_EQ(kind_of(usual(), true), LAGTRAP_UNWIND_UNSUPPORTED);
}

TEST(CallFrameState, AnExpressionMayBeARegisterOrWhatLiesThere) {
    struct Case {
        std::string_view expression;
        Cfa form;
        std::uint64_t number;
        std::int64_t offset, addend;
    };
    for (const Case& one : std::initializer_list<Case>{
             {"\x76\x78"sv, Cfa::Register, 6, -8, 0},
             {"\x92\x07\x08"sv, Cfa::Register, 7, 8, 0},
             {"\x77\x08\x23\x10\x96"sv, Cfa::Register, 7, 24, 0},
             {"\x77\x20\x38\x1c"sv, Cfa::Register, 7, 24, 0},
             {"\x38\x77\x20\x22"sv, Cfa::Register, 7, 40, 0},
             {"\x77\x00\x09\xf8\x22"sv, Cfa::Register, 7, -8, 0},
             {"\x77\x00\x08\xf8\x22"sv, Cfa::Register, 7, 248, 0},
             {"\x77\x00\x0b\xf8\xff\x22"sv, Cfa::Register, 7, -8, 0},
             {"\x77\x00\x0a\xf8\xff\x22"sv, Cfa::Register, 7, 0xfff8, 0},
             {"\x77\x00\x0d\xf8\xff\xff\xff\x22"sv, Cfa::Register, 7, -8, 0},
             {"\x77\x00\x10\x80\x01\x22"sv, Cfa::Register, 7, 128, 0},
             {"\x77\x00\x11\x78\x22"sv, Cfa::Register, 7, -8, 0},
             {"\x77\x08\x06"sv, Cfa::Dereference, 7, 8, 0},
             {"\x76\x78\x06\x23\x10"sv, Cfa::Dereference, 6, -8, 16},
             {"\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"sv, Cfa::Plt, 7, 11, 0},
             {"\x77\x08\x80\x00\x3f\x1a\x30\x2a\x33\x24\x22"sv, Cfa::Plt, 7, 0, 0}}) {
        const CfaRule rule = cfa_of_expression(one.expression);
        EXPECT_EQ(rule.form, one.form);
        EXPECT_TRUE(rule.by_expression);
        EXPECT_EQ(rule.register_number, one.number);
        EXPECT_EQ(rule.offset, one.offset);
        EXPECT_EQ(rule.addend, one.addend);
    }
}

TEST(CallFrameState, OtherExpressionsAreUnclear) {
    for (const std::string_view expression :
         {""sv, "\x77"sv, "\x38"sv, "\x77\x00\x76\x00\x22"sv, "\x77\x00\x76\x00\x1c"sv, "\x22"sv,
          "\x06"sv, "\x38\x06"sv, "\x77\x00\x06\x06"sv, "\x77\x00\x1e"sv, "\x77\x00\x23"sv,
          "\x77\x08\x80\x00\x3f\x1a\x2f\x2a\x33\x24\x22"sv,
          "\x77\x08\x80\x00\x3f\x1a\x50\x2a\x33\x24\x22"sv,
          "\x30\x30\x30\x30\x30\x30\x30\x30\x77\x00"sv})
        EXPECT_EQ(cfa_of_expression(expression).form, Cfa::Unclear);
    EXPECT_EQ(cfa_of_expression("\x30\x30\x30\x30\x30\x30\x30\x77\x00"sv).form, Cfa::Register);
}

TEST(CallFrameState, AnExpressionMayBeAPlaceNearTheCfaOrARegister) {
    const auto check = [](std::string_view expression, Saved form, unsigned number,
                          std::int64_t offset) {
        const SavedRegister place = place_of_expression(expression);
        EXPECT_EQ(place.form, form);
        EXPECT_EQ(place.register_number, number);
        EXPECT_EQ(place.offset, offset);
    };
    check("", Saved::AtCfa, 0, 0);
    check("\x23\x08", Saved::AtCfa, 0, 8);
    check("\x38\x1c", Saved::AtCfa, 0, -8);
    check("\x77\x10"sv, Saved::AtRegister, 7, 16);
    check("\x7f\x10"sv, Saved::AtRegister, 15, 16);
    check("\x80\x10"sv, Saved::Unclear, 0, 0);
    check("\x77\x10\x06"sv, Saved::Unclear, 0, 0);
    check("\x38"sv, Saved::Unclear, 0, 0);
}

}  // namespace
}  // namespace lagtrap::binaries::call_frame_state_test
