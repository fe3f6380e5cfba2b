// Each construct of call frame information, built byte by byte.
#include "binaries/unwind/unwind_table.hpp"

#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table_builder.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::unwind_table_test {
namespace {

using ::testing::HasSubstr;

constexpr std::uint8_t define_cfa = 0x0c;
constexpr std::uint8_t define_cfa_register = 0x0d;
constexpr std::uint8_t op_define_cfa_expression = 0x0f;
constexpr std::uint8_t op_expression = 0x10;

std::string expression(const std::string& operations) {
    return Bytes().u8(op_define_cfa_expression).block(operations);
}
std::string breg(unsigned number, std::int64_t offset) {
    return Bytes().u8(0x70 + number).sleb(offset);
}

// The table of one function of 256 bytes at code_at with these instructions.
Result<UnwindTable> table_of_function(const std::string& instructions) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 256, instructions);
    return table_of(frames);
}
// The rule in force at its end.
lagtrap_unwind_rule last_rule_of(const std::string& instructions) {
    const auto table = table_of_function(instructions);
    EXPECT_TRUE(table) << table.error().message;
    return table ? find_unwind_rule(*table, code_at + 255) : lagtrap_unwind_rule{};
}

TEST(UnwindTable, FollowsAFunctionFromPrologueToEpilogue) {
    const auto table = table_of_function(Bytes()
                                             .u8(0x41)  // advance 1
                                             .u8(define_cfa_offset)
                                             .uleb(16)
                                             .u8(0x80 | 6)  // rbp at CFA - 16
                                             .uleb(2)
                                             .u8(0x43)
                                             .u8(define_cfa_register)
                                             .uleb(6)
                                             .u8(0x02)  // advance by a byte
                                             .u8(200)
                                             .u8(0x0a)  // remember
                                             .u8(define_cfa)
                                             .uleb(7)
                                             .uleb(8)
                                             .u8(0xc0 | 6)  // restore rbp
                                             .u8(0x41)
                                             .u8(0x0b));  // restore the remembered state
    ASSERT_TRUE(table) << table.error().message;
    const auto own = rows_of(*table);
    EXPECT_EQ(own.problem, "");
    const auto pushed = rule(LAGTRAP_UNWIND_REGISTER, 7, 16, LAGTRAP_UNWIND_RBP_AT_CFA, -16);
    const auto framed = rule(LAGTRAP_UNWIND_REGISTER, 6, 16, LAGTRAP_UNWIND_RBP_AT_CFA, -16);
    EXPECT_THAT(own.rows, ::testing::ElementsAre(
                              TableRow{code_at, at_rsp(8)}, TableRow{code_at + 1, pushed},
                              TableRow{code_at + 4, framed}, TableRow{code_at + 204, at_rsp(8)},
                              TableRow{code_at + 205, framed}, TableRow{code_at + 256, {}}));
    EXPECT_THAT(find_unwind_rule(*table, code_at), IsRule(at_rsp(8)));
    EXPECT_THAT(find_unwind_rule(*table, code_at + 3), IsRule(pushed));
    EXPECT_THAT(find_unwind_rule(*table, code_at + 203), IsRule(framed));
    EXPECT_THAT(find_unwind_rule(*table, code_at + 204), IsRule(at_rsp(8)));
    EXPECT_THAT(find_unwind_rule(*table, code_at - 1), IsRule(rule(LAGTRAP_UNWIND_GAP)));
    EXPECT_THAT(find_unwind_rule(*table, code_at + 1024), IsRule(rule(LAGTRAP_UNWIND_GAP)));
    EXPECT_THAT(find_unwind_rule(*table, 0), IsRule(rule(LAGTRAP_UNWIND_GAP)));
    EXPECT_EQ(table->row_count, 6U);
    EXPECT_EQ(table->unsupported_rows, 0U);
    ASSERT_EQ(table->segments.size(), 1U);
    EXPECT_EQ(table->segments[0].file_offset, code_file_offset);
    EXPECT_EQ(table->segments[0].address, code_at);
    EXPECT_EQ(table->segments[0].size_bytes, code_bytes);
}

TEST(UnwindTable, KnowsEveryInstruction) {
    const auto reg = [](std::uint8_t number, std::int32_t offset) {
        return rule(LAGTRAP_UNWIND_REGISTER, number, offset);
    };
    const auto with_rbp = [](lagtrap_unwind_rbp place, std::int16_t offset) {
        return rule(LAGTRAP_UNWIND_REGISTER, 7, 8, place, offset);
    };
    const auto rbp_at = [&](std::int16_t offset) {
        return with_rbp(LAGTRAP_UNWIND_RBP_AT_CFA, offset);
    };
    const auto with_rbx = [&](std::int8_t words) {
        auto rule = reg(7, 8);
        rule.rbx_words = words;
        return rule;
    };
    const auto rbp_lost = with_rbp(LAGTRAP_UNWIND_RBP_UNDEFINED, 0);
    // The CIE's data alignment is -8.
    const std::vector<std::pair<std::string, lagtrap_unwind_rule>> cases{
        {Bytes().u8(0x00), reg(7, 8)},
        {Bytes().u8(define_cfa).uleb(10).uleb(0), reg(10, 0)},
        {Bytes().u8(define_cfa).uleb(15).uleb(1 << 20), reg(15, 1 << 20)},
        {Bytes().u8(0x12).uleb(3).sleb(-3), reg(3, 24)},  // def_cfa_sf
        {Bytes().u8(0x13).sleb(-5), reg(7, 40)},          // def_cfa_offset_sf
        {Bytes().u8(0x05).uleb(6).uleb(4), rbp_at(-32)},  // offset_extended
        {Bytes().u8(0x11).uleb(6).sleb(-4), rbp_at(32)},  // offset_extended_sf
        // GNU_negative_offset_extended
        {Bytes().u8(0x2f).uleb(6).uleb(4), rbp_at(32)},
        {Bytes().u8(0x05).uleb(6).uleb(4).u8(0x06).uleb(6), reg(7, 8)},  // restore_extended
        {Bytes().u8(0x05).uleb(6).uleb(4).u8(0x08).uleb(6), reg(7, 8)},  // same_value
        {Bytes().u8(0x07).uleb(6), rbp_lost},                            // undefined
        {Bytes().u8(0x09).uleb(6).uleb(10), rbp_lost},                   // register
        {Bytes().u8(0x14).uleb(6).uleb(2), rbp_lost},                    // val_offset
        {Bytes().u8(0x15).uleb(6).sleb(2), rbp_lost},                    // val_offset_sf
        {Bytes().u8(0x16).uleb(6).block(breg(7, 8)), rbp_lost},          // val_expression
        {Bytes().u8(0x05).uleb(6).uleb(5000), rbp_lost},                 // beyond 16 bits
        {Bytes().u8(0x05).uleb(6).uleb(4096), rbp_at(-32768)},           // just within
        // rsp is the CFA: the default
        {Bytes().u8(0x14).uleb(7).uleb(0), reg(7, 8)},
        // registers that are not tracked
        {Bytes().u8(0x05).uleb(12).uleb(4).u8(0x07).uleb(40), reg(7, 8)},
        {Bytes().u8(0x05).uleb(3).uleb(4), with_rbx(-4)},  // rbx is tracked
        {Bytes().u8(0x05).uleb(3).uleb(127), with_rbx(-127)},
        {Bytes().u8(0x05).uleb(3).uleb(128), with_rbx(LAGTRAP_UNWIND_RBX_UNKNOWN)},
        {Bytes().u8(0x07).uleb(3), with_rbx(LAGTRAP_UNWIND_RBX_UNKNOWN)},
        {Bytes().u8(0x05).uleb(3).uleb(4).u8(0x08).uleb(3), reg(7, 8)},
        // GNU_args_size
        {Bytes().u8(0x2e).uleb(32).u8(define_cfa_offset).uleb(16), reg(7, 16)},
        // no return address
        {Bytes().u8(0x07).uleb(16), rule(LAGTRAP_UNWIND_END)},
        // it is at CFA - 16
        {Bytes().u8(0x05).uleb(16).uleb(2), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        // it is in rdi
        {Bytes().u8(0x09).uleb(16).uleb(5), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        // it is in itself
        {Bytes().u8(0x08).uleb(16), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        // rsp is not the CFA
        {Bytes().u8(0x08).uleb(7), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        {Bytes().u8(0x05).uleb(7).uleb(2), rule(LAGTRAP_UNWIND_UNSUPPORTED)},         // nor here
        {Bytes().u8(define_cfa).uleb(16).uleb(0), rule(LAGTRAP_UNWIND_UNSUPPORTED)},  // CFA by rip
        {Bytes().u8(define_cfa).uleb(33).uleb(0), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        {Bytes().u8(define_cfa_offset).uleb(1ULL << 31), rule(LAGTRAP_UNWIND_UNSUPPORTED)},
        {Bytes().u8(0x0a).u8(0x07).uleb(16).u8(0x0b), reg(7, 8)},  // remembered and restored
        // nested
        {Bytes().u8(0x0a).u8(0x0e).uleb(16).u8(0x0a).u8(0x0e).uleb(24).u8(0x0b).u8(0x0b),
         reg(7, 8)},
    };
    for (std::size_t index = 0; index < cases.size(); ++index)
        EXPECT_THAT(last_rule_of(cases[index].first), IsRule(cases[index].second))
            << "case " << index;
}

TEST(UnwindTable, EndsWithItsFunction) {
    // The rest is ignored, even if it is damaged.
    EXPECT_THAT(last_rule_of(Bytes().u8(0x03).u16(256).u8(define_cfa_offset).uleb(64).u8(0x1d)),
                IsRule(at_rsp(8)));
}

TEST(UnwindTable, AdvancesByEveryWidth) {
    const auto offset_at = [](const std::string& advance) {
        Frames frames;
        frames.function(frames.usual_cie(), code_at, 0x3000,
                        Bytes().raw(advance).u8(define_cfa_offset).uleb(64));
        const auto table = table_of(frames);
        EXPECT_TRUE(table) << table.error().message;
        std::uint64_t offset = 0;
        while (offset < 0x3000 && find_unwind_rule(*table, code_at + offset).cfa_offset != 64)
            ++offset;
        return offset;
    };
    EXPECT_EQ(offset_at(Bytes().u8(0x40 | 63)), 63U);
    EXPECT_EQ(offset_at(Bytes().u8(0x02).u8(255)), 255U);
    EXPECT_EQ(offset_at(Bytes().u8(0x03).u16(0x1234)), 0x1234U);
    EXPECT_EQ(offset_at(Bytes().u8(0x04).u32(0x2345)), 0x2345U);
    EXPECT_EQ(offset_at(Bytes().u8(0x40)), 0U);
    // DW_CFA_set_loc in the CIE's encoding: relative to itself.
    Frames frames;
    const auto cie = frames.usual_cie();
    const std::uint64_t place = frames_address + frames.size() + 8 + 8 + 1 + 1;
    frames.function(cie, code_at, 0x3000,
                    Bytes().u8(0x01).u32(code_at + 0x321 - place).u8(define_cfa_offset).uleb(64));
    const auto table = table_of(frames);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(find_unwind_rule(*table, code_at + 0x320).cfa_offset, 8);
    EXPECT_EQ(find_unwind_rule(*table, code_at + 0x321).cfa_offset, 64);
}

std::string plt_expression(unsigned threshold) {
    return Bytes()
        .raw(breg(7, 8))
        .raw(breg(16, 0))
        .u8(0x3f)
        .u8(0x1a)
        .u8(0x30 + threshold)
        .u8(0x2a)
        .u8(0x33)
        .u8(0x24)
        .u8(0x22);
}

TEST(UnwindTable, UnderstandsTheExpressionsThatOccur) {
    const auto unsupported = rule(LAGTRAP_UNWIND_UNSUPPORTED);
    const auto dereference = [](std::uint8_t number, std::int32_t offset, unsigned words) {
        return rule(LAGTRAP_UNWIND_DEREFERENCE, number, offset, LAGTRAP_UNWIND_RBP_SAME, 0, words);
    };
    const std::vector<std::pair<std::string, lagtrap_unwind_rule>> cases{
        {plt_expression(11), rule(LAGTRAP_UNWIND_PLT, 7, 11)},
        {plt_expression(10), rule(LAGTRAP_UNWIND_PLT, 7, 10)},
        {plt_expression(9), rule(LAGTRAP_UNWIND_PLT, 7, 9)},
        {plt_expression(11) + '\x06', unsupported},
        {breg(6, -8) + '\x06', dereference(6, -8, 0)},
        {breg(7, 152) + '\x06' + std::string("\x23\x08", 2), dereference(7, 152, 1)},
        // lit8, plus
        {breg(7, 152) + '\x06' + std::string("\x38\x22", 2), dereference(7, 152, 1)},
        // const1u 120, plus
        {breg(7, 152) + '\x06' + std::string("\x08\x78\x22", 3), dereference(7, 152, 15)},
        // const1s -8, minus
        {breg(7, 152) + '\x06' + std::string("\x09\xf8\x1c", 3), dereference(7, 152, 1)},
        {breg(7, 152) + '\x06' + std::string("\x23\x80\x01", 3), unsupported},  // + 128
        {breg(7, 152) + '\x06' + std::string("\x23\x04", 2), unsupported},      // + 4
        {breg(7, 152) + '\x06' + std::string("\x38\x1c", 2), unsupported},      // - 8
        {breg(7, 152) + '\x06' + '\x06', unsupported},
        {breg(6, 24), rule(LAGTRAP_UNWIND_REGISTER, 6, 24)},
        {std::string("\x92\x0a\x10", 3), rule(LAGTRAP_UNWIND_REGISTER, 10, 16)},  // bregx
        {std::string("\x38", 1) + breg(3, 8) + '\x22' + '\x96',
         rule(LAGTRAP_UNWIND_REGISTER, 3, 16)},
        // libcrypto: + r9 * 8
        {breg(7, 8) + breg(9, 0) + '\x38' + '\x1e' + '\x22' + '\x06', unsupported},
        {breg(16, 0), unsupported},
        {breg(7, 0) + breg(6, 0) + '\x22', unsupported},
        {"\x22", unsupported},
        {"", unsupported},
    };
    for (std::size_t index = 0; index < cases.size(); ++index)
        EXPECT_THAT(last_rule_of(expression(cases[index].first)), IsRule(cases[index].second))
            << "case " << index;
}

// As GCC's unwinder does it and libgcrypt's assembly needs it.
TEST(UnwindTable, ARegisterAloneAfterAnExpressionTakesTheOffsetBeforeIt) {
    const std::string before = Bytes().u8(define_cfa_offset).uleb(56);
    const std::string expressed =
        before + expression(breg(7, 536) + '\x06' + std::string("\x23\x38", 2));
    EXPECT_EQ(kind_of(last_rule_of(expressed)), LAGTRAP_UNWIND_DEREFERENCE);
    EXPECT_THAT(last_rule_of(expressed + Bytes().u8(define_cfa_register).uleb(7).text()),
                IsRule(at_rsp(56)));
    const std::string offset = Bytes().u8(define_cfa_offset).uleb(48);
    EXPECT_EQ(kind_of(last_rule_of(expressed + offset)), LAGTRAP_UNWIND_DEREFERENCE);
    EXPECT_THAT(last_rule_of(expressed + offset + Bytes().u8(define_cfa_register).uleb(7).text()),
                IsRule(at_rsp(48)));
    EXPECT_THAT(last_rule_of(before + expression(breg(6, 16)) + offset),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 6, 16)));
}

TEST(UnwindTable, FindsRbpByExpressions) {
    const auto rbp_by = [](const std::string& operations) {
        return Bytes().u8(op_expression).uleb(6).block(operations).text();
    };
    // GCC's realigned frame.
    EXPECT_THAT(last_rule_of(expression(breg(6, -8) + '\x06') + rbp_by(breg(6, 0))),
                IsRule(rule(LAGTRAP_UNWIND_DEREFERENCE, 6, -8, LAGTRAP_UNWIND_RBP_AT_RBP, 0)));
    EXPECT_THAT(last_rule_of(rbp_by(breg(6, -24))),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 7, 8, LAGTRAP_UNWIND_RBP_AT_RBP, -24)));
    // rsp + 40 where the CFA is rsp + 64.
    EXPECT_THAT(last_rule_of(Bytes().u8(define_cfa_offset).uleb(64).raw(rbp_by(breg(7, 40)))),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 7, 64, LAGTRAP_UNWIND_RBP_AT_CFA, -24)));
    // The expression starts with the CFA on its stack.
    EXPECT_THAT(last_rule_of(rbp_by(std::string("\x40\x1c", 2))),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 7, 8, LAGTRAP_UNWIND_RBP_AT_CFA, -16)));
    // A place that no rule can express.
    EXPECT_THAT(last_rule_of(rbp_by(breg(3, 0))),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 7, 8, LAGTRAP_UNWIND_RBP_UNDEFINED)));
    EXPECT_THAT(last_rule_of(rbp_by(breg(6, 0) + '\x06')),
                IsRule(rule(LAGTRAP_UNWIND_REGISTER, 7, 8, LAGTRAP_UNWIND_RBP_UNDEFINED)));
}

std::string kernel_frame(std::int64_t rip_offset, const std::string& added = "") {
    return Bytes()
        .raw(expression(breg(7, 160) + '\x06' + added))
        .u8(op_expression)
        .uleb(6)
        .block(breg(7, 120))
        .u8(op_expression)
        .uleb(7)
        .block(breg(7, 160))
        .u8(op_expression)
        .uleb(16)
        .block(breg(7, rip_offset));
}

TEST(UnwindTable, KnowsTheKernelsSignalFrame) {
    const auto kind = [](const std::string& augmentation, const std::string& instructions) {
        Frames frames;
        const auto cie = frames.cie(augmentation, Bytes().u8(0x1b), usual_start());
        frames.function(cie, code_at, 64, instructions);
        const auto table = table_of(frames);
        EXPECT_TRUE(table) << table.error().message;
        return kind_of(find_unwind_rule(*table, code_at + 20));
    };
    EXPECT_EQ(kind("zRS", kernel_frame(168)), LAGTRAP_UNWIND_SIGNAL);
    // Marked but with another layout; then that layout but not marked.
    EXPECT_EQ(kind("zRS", kernel_frame(176)), LAGTRAP_UNWIND_UNSUPPORTED);
    EXPECT_EQ(kind("zRS", kernel_frame(168, "\x23\x08")), LAGTRAP_UNWIND_UNSUPPORTED);
    EXPECT_EQ(kind("zRS", ""), LAGTRAP_UNWIND_UNSUPPORTED);
    EXPECT_EQ(kind("zR", kernel_frame(168)), LAGTRAP_UNWIND_UNSUPPORTED);
}

TEST(UnwindTable, ReadsEveryEncodingOfPointers) {
    constexpr std::uint64_t begin_address = code_at + 0x100;
    const auto found = [&](const std::string& augmentation, std::uint8_t encoding, auto head) {
        Frames frames;
        const auto cie = frames.cie(
            augmentation, augmentation.empty() ? "" : Bytes().u8(encoding).text(), usual_start());
        Bytes bytes = head(frames_address + frames.size() + 8);
        if (!augmentation.empty()) bytes.uleb(0);
        frames.function_with(cie, bytes, "");
        TestFile file;
        file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
        file.sections.push_back(
            {".got.plt", std::string(16, '\0'), global_offset_table, SHF_ALLOC});
        const auto table = table_of(file);
        return table &&
               kind_of(find_unwind_rule(*table, begin_address - 1)) == LAGTRAP_UNWIND_GAP &&
               kind_of(find_unwind_rule(*table, begin_address)) == LAGTRAP_UNWIND_REGISTER &&
               kind_of(find_unwind_rule(*table, begin_address + 0x7f)) == LAGTRAP_UNWIND_REGISTER &&
               kind_of(find_unwind_rule(*table, begin_address + 0x80)) == LAGTRAP_UNWIND_GAP;
    };
    const auto absolute64 = [](std::uint64_t) { return Bytes().u64(begin_address).u64(0x80); };
    const auto absolute32 = [](std::uint64_t) { return Bytes().u32(begin_address).u32(0x80); };
    const auto relative64 = [](std::uint64_t place) {
        return Bytes().u64(begin_address - place).u64(0x80);
    };
    const auto relative32 = [](std::uint64_t place) {
        return Bytes().u32(begin_address - place).u32(0x80);
    };
    const auto data32 = [](std::uint64_t) {
        return Bytes().u32(begin_address - global_offset_table).u32(0x80);
    };
    EXPECT_TRUE(found("", 0, absolute64));
    EXPECT_TRUE(found("eh", 0, [&](std::uint64_t place) { return absolute64(place).uleb(0); }));
    EXPECT_TRUE(found("zR", 0x00, absolute64));
    EXPECT_TRUE(found("zR", 0x03, absolute32));
    EXPECT_TRUE(found("zR", 0x04, absolute64));
    EXPECT_TRUE(found("zR", 0x0b, absolute32));
    EXPECT_TRUE(found("zR", 0x0c, absolute64));
    EXPECT_TRUE(found("zR", 0x1b, relative32));
    EXPECT_TRUE(found("zR", 0x1c, relative64));
    EXPECT_TRUE(found("zR", 0x3b, data32));
    EXPECT_TRUE(
        found("zR", 0x01, [](std::uint64_t) { return Bytes().uleb(begin_address).uleb(0x80); }));
    EXPECT_TRUE(
        found("zR", 0x09, [](std::uint64_t) { return Bytes().sleb(begin_address).sleb(0x80); }));
    EXPECT_TRUE(found("zR", 0x19, [](std::uint64_t place) {
        return Bytes().sleb(static_cast<std::int64_t>(begin_address - place)).sleb(0x80);
    }));
    // Indirect, relative to things that x86-64 does not have, and unknown forms.
    for (const std::uint8_t encoding : {0x9b, 0x2b, 0x4b, 0x50, 0x05, 0x0f, 0xff})
        EXPECT_FALSE(found("zR", encoding, relative32)) << int{encoding};
}

TEST(UnwindTable, ReadsTheAugmentationsOfCompilers) {
    const auto kind = [](const std::string& augmentation, const std::string& data,
                         unsigned version = 1) {
        Frames frames;
        const auto cie = frames.cie(augmentation, data, usual_start(), version);
        const std::uint64_t place = frames_address + frames.size() + 8;
        // With as much augmentation data as a language-specific table takes.
        frames.function_with(cie, Bytes().u32(code_at - place).u32(64).uleb(4).u32(0x11223344), "");
        const auto table = table_of(frames);
        return table ? kind_of(find_unwind_rule(*table, code_at)) : LAGTRAP_UNWIND_GAP;
    };
    const std::string plain = Bytes().u8(0x1b);
    // An indirect pointer to the personality routine; encodings of the table and of pointers.
    const std::string with_personality = Bytes().u8(0x9b).u32(0x1234).u8(0x1b).u8(0x1b);
    EXPECT_EQ(kind("zR", plain), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zPLR", with_personality), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zPLR", Bytes().u8(0x00).u64(0x401234).u8(0x00).u8(0x1b)),
              LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zPLR", Bytes().u8(0xff).u8(0xff).u8(0x1b)), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zR", plain, 3), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zR", plain, 4), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind("zR", plain, 2), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind("zR", plain, 5), LAGTRAP_UNWIND_GAP);
    // An unknown augmentation might change the code's meaning, so there is no guess.
    EXPECT_EQ(kind("zRX", plain), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind("R", plain), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind("zR", ""), LAGTRAP_UNWIND_GAP);
    EXPECT_EQ(kind("zPLR", Bytes().u8(0x9b).u8(1)), LAGTRAP_UNWIND_GAP);
}

TEST(UnwindTable, FindsTheSectionByItsSegmentWhereHeadersAreStripped) {
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 64, "");
    // There is something else after the end.
    frames.bytes().u32(0);
    frames.function(0, code_at + 256, 64, "");
    TestFile file;
    file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
    file.section_headers = false;
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::NotFound);
    // Version 1, a pointer to .eh_frame relative to itself, no table of functions.
    file.eh_frame_hdr = Bytes().u8(1).u8(0x1b).u8(0xff).u8(0xff).u32(0x1000 - 4);
    const auto table = table_of(file);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(kind_of(find_unwind_rule(*table, code_at + 63)), LAGTRAP_UNWIND_REGISTER);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, code_at + 256)), LAGTRAP_UNWIND_GAP);
    file.eh_frame_hdr = Bytes().u8(1).u8(0x1b).u8(0xff).u8(0xff).u32(0x10000000);
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Invalid);
    file.eh_frame_hdr = Bytes().u8(2).u8(0x1b).u8(0xff).u8(0xff).u32(0x1000 - 4);
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Invalid);
}

TestSection packed(TestSection section, std::uint64_t claimed_bytes,
                   std::uint32_t method = ELFCOMPRESS_ZLIB) {
    std::string content(::compressBound(section.content.size()), '\0');
    uLongf size = content.size();
    ::compress(reinterpret_cast<Bytef*>(content.data()), &size,
               reinterpret_cast<const Bytef*>(section.content.data()), section.content.size());
    content.resize(size);
    section.content = Bytes().u32(method).u32(0).u64(claimed_bytes).u64(1).raw(content);
    section.flags |= SHF_COMPRESSED;
    return section;
}

// .debug_frame has absolute addresses, CIEs after their functions, and all ones to mark CIEs.
TEST(UnwindTable, ReadsDebugFramesPlainAndPacked) {
    Frames frames(true);
    frames.function_with(24 + 4, Bytes().u64(code_at).u64(64),
                         Bytes().u8(define_cfa_offset).uleb(24).u8(0).u8(0).text());
    frames.cie("", "", usual_start(), 3);
    // Dropped by the linker.
    frames.function_with(28, Bytes().u64(0).u64(64), "");
    TestFile file;
    file.second_code = 0;  // as in a library linked without a segment for its headers
    file.sections.push_back({".debug_frame", frames.text(), 0, 0});
    const auto plain = table_of(file);
    ASSERT_TRUE(plain) << plain.error().message;
    EXPECT_EQ(kind_of(find_unwind_rule(*plain, 0)), LAGTRAP_UNWIND_GAP);
    EXPECT_THAT(find_unwind_rule(*plain, code_at + 63), IsRule(at_rsp(24)));
    const auto section = file.sections[0];
    file.sections[0] = packed(section, frames.size());
    const auto unpacked = table_of(file);
    ASSERT_TRUE(unpacked) << unpacked.error().message;
    EXPECT_EQ(unpacked->pages, plain->pages);
    file.sections[0] = packed(section, frames.size() + 1);
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Invalid);
    file.sections[0] = packed(section, 1 << 30);
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::TooLarge);
    file.sections[0] = packed(section, frames.size(), 9);
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Unsupported);
    EXPECT_THAT(table_of(file).error().message, HasSubstr("packed by method 9"));
}

// A Go program with C parts: .debug_frame covers the Go parts, .eh_frame (read first) the rest.
TEST(UnwindTable, FillsWhatEhFrameLeavesOutFromDebugFrame) {
    Frames eh_frames;
    const auto cie = eh_frames.usual_cie();
    eh_frames.function(cie, code_at + 100, 100, "");
    eh_frames.function(cie, code_at + 400, 100, "");
    Frames frames(true);
    const auto debug_cie =
        frames.cie("", "", Bytes().raw(usual_start()).u8(define_cfa_offset).uleb(64), 3);
    for (const std::uint64_t begin : {50, 150, 200, 250, 390, 500})
        frames.function_with(debug_cie, Bytes().u64(code_at + begin).u64(50), "");
    frames.function_with(debug_cie, Bytes().u64(code_at + 320).u64(300), "");
    TestFile file;
    file.sections.push_back({".eh_frame", eh_frames.text(), frames_address, SHF_ALLOC});
    file.sections.push_back({".debug_frame", frames.text(), 0, 0});
    const auto table = table_of(file);
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(rows_of(*table).problem, "");
    const auto offset_at = [&](std::uint64_t offset) {
        return find_unwind_rule(*table, code_at + offset).cfa_offset;
    };
    EXPECT_EQ(offset_at(50), 64);
    EXPECT_EQ(offset_at(99), 64);
    EXPECT_EQ(offset_at(100), 8);
    EXPECT_EQ(offset_at(199), 8);
    EXPECT_EQ(offset_at(200), 64);
    EXPECT_EQ(offset_at(299), 64);
    EXPECT_EQ(offset_at(350), 0);
    EXPECT_EQ(offset_at(395), 0);
    EXPECT_EQ(offset_at(400), 8);
    EXPECT_EQ(offset_at(499), 8);
    EXPECT_EQ(offset_at(500), 64);
}

TEST(UnwindTable, SaysWhyThereIsNone) {
    TestFile file;
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::NotFound);
    file.sections.push_back({".eh_frame", std::string(4, '\0'), frames_address, SHF_ALLOC});
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::NotFound);
    EXPECT_THAT(table_of(file).error().message, HasSubstr("test file: has no unwind information"));
    file.sections[0].content = std::string(64, '\x11');
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Invalid);
    Frames frames;
    frames.function(frames.usual_cie(), code_at, 64, "");
    file.sections[0].content = frames.text();
    EXPECT_TRUE(table_of(file));
    file.machine = EM_AARCH64;
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::Unsupported);
    file.machine = EM_X86_64;
    file.code_flags = PF_R;
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::NotFound);
}

TEST(UnwindTable, RefusesATableThatWouldBeTooLarge) {
    Frames frames;
    const auto cie = frames.usual_cie();
    TestFile file;
    file.second_code = code_at + (9ULL << 30);
    frames.function(cie, code_at, 64, "");
    const auto wide = frames.cie("zR", Bytes().u8(0x00), usual_start());
    frames.function_with(wide, Bytes().u64(*file.second_code).u64(64).uleb(0), "");
    file.sections.push_back({".eh_frame", frames.text(), frames_address, SHF_ALLOC});
    EXPECT_EQ(table_of(file).error().kind, ErrorKind::TooLarge);
    EXPECT_THAT(table_of(file).error().message, HasSubstr("more than 64 MiB"));
}

TEST(UnwindTable, CountsRowsTowardsItsSize) {
    constexpr std::uint64_t rows_that_fit = 16 << 20;
    UnwindTableBuilder builder(rows_that_fit / 1024);
    std::uint64_t offset = 0;
    while (!builder.too_large() && offset < rows_that_fit) {
        builder.put(offset, at_rsp(offset % 2 == 0 ? 8 : 16));
        ++offset;
    }
    // The rest of 64 MiB for rows, besides 32 pages of buckets and one of rules.
    EXPECT_EQ(offset, rows_that_fit - 33 * 1024 + 1);
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_table_test
