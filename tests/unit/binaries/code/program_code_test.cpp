#include "binaries/code/program_code.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::program_code_test {
namespace {

using ::testing::ElementsAre;
constexpr std::uint64_t table_address = 0x700000;

TEST(OwnerOfPart, IsTheNameBeforeItsSuffix) {
    EXPECT_EQ(owner_of_part("f.cold"), "f");
    EXPECT_EQ(owner_of_part("f.cold.1"), "f");
    EXPECT_EQ(owner_of_part("f.cold.23"), "f");
    EXPECT_EQ(owner_of_part("f.__part.1"), "f");
    EXPECT_EQ(owner_of_part("f.__part"), "f");
    EXPECT_EQ(owner_of_part("f.constprop.0.cold"), "f.constprop.0");
    EXPECT_EQ(owner_of_part("f.cold.cold"), "f.cold");
    for (const char* name : {"f", "", ".cold", "f.coldest", "f.cold.x", "f.cold.1x", "f.cold1",
                             "f.part.0", "cold", "f.cold.1.part.0"})
        EXPECT_EQ(owner_of_part(name), "") << name;
}

// A file whose code starts with these bytes and has unwind information for its functions.
class CodeOfAFile : public ::testing::Test {
  protected:
    void function(std::uint64_t at, std::uint64_t size, bool deeper = false) {
        if (!cie_) cie_ = frames_.usual_cie();
        frames_.function(*cie_, code_at + at, size,
                         deeper ? Bytes().u8(define_cfa_offset).uleb(16).text() : std::string());
    }
    void named(const std::string& name, std::uint64_t at, std::uint64_t size) {
        functions_.push_back({name, code_at + at, size, code_file_offset + at, false});
    }
    // `bytes` at `at` of the code.
    void code(std::uint64_t at, const std::string& bytes) { code_.emplace_back(at, bytes); }
    // A jump of five bytes.
    void jump(std::uint64_t at, std::uint64_t target, unsigned opcode = 0xe9) {
        code(at, Bytes().u8(opcode).u32(target - at - 5));
    }
    const ProgramCode& read(const std::string& table = "") {
        TestFile file;
        if (frames_.size() > 0)
            file.sections.push_back({".eh_frame", frames_.text(), frames_address, SHF_ALLOC});
        if (!table.empty()) file.sections.push_back({".rodata", table, table_address, SHF_ALLOC});
        std::string bytes = file.bytes();
        std::fill_n(bytes.begin() + code_file_offset, 0x1000, '\xc3');
        for (const auto& [at, piece] : code_)
            bytes.replace(code_file_offset + at, piece.size(), piece);
        image_.emplace(std::move(ElfImage::from_bytes(std::move(bytes), "test file")).value());
        return read_.emplace(*image_, functions_);
    }
    // "0-10 20-28+" of the parts, "+" for those of others too.
    std::vector<std::string> parts(std::uint64_t at, std::uint64_t size) {
        const auto found = read().parts_of({"f", code_at + at, size, code_file_offset + at, false});
        std::vector<std::string> texts;
        if (!found) return {found.error().message};
        for (const CodePart& part : *found) {
            texts.push_back(std::to_string(part.begin - code_at) + "-" +
                            std::to_string(part.end - code_at) + (part.of_others_too ? "+" : ""));
            EXPECT_EQ(part.file_offset, code_file_offset + part.begin - code_at);
        }
        return texts;
    }

    Frames frames_;
    std::optional<std::size_t> cie_;
    std::vector<Function> functions_;
    std::vector<std::pair<std::uint64_t, std::string>> code_;
    std::optional<ElfImage> image_;
    std::optional<ProgramCode> read_;
};

TEST_F(CodeOfAFile, AFunctionIsOnePart) {
    named("f", 0, 16);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16"));
}

TEST_F(CodeOfAFile, TheSizeComesFromTheSymbolOrTheUnwindInformation) {
    function(0, 32);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16"));
    EXPECT_THAT(parts(0, 0), ElementsAre("0-32"));
    EXPECT_THAT(parts(8, 0),
                ElementsAre("has no known size, neither from its symbol nor from unwind "
                            "information"));
    EXPECT_EQ(read().parts_of({"f", code_at + 8, 0, 0, false}).error().kind,
              ErrorKind::Unsupported);
}

TEST_F(CodeOfAFile, APartOfAnotherFunctionIsNone) {
    function(0, 32, true);
    EXPECT_THAT(parts(0, 32), ElementsAre("is a part of another function, which jumps here; watch "
                                          "that function"));
    EXPECT_EQ(read().parts_of({"f", code_at, 32, 0, false}).error().kind, ErrorKind::Invalid);
}

TEST_F(CodeOfAFile, CodeOutsideTheFileOrBeyondTheLimitIsRefused) {
    EXPECT_THAT(parts(code_bytes - 8, 16), ElementsAre("is outside the file's code"));
    EXPECT_THAT(parts(code_bytes - 8, 8), ElementsAre("16376-16384"));
    EXPECT_THAT(parts(0, max_function_bytes + 1),
                ElementsAre("has 4194305 bytes of code; the limit is 4194304"));
    EXPECT_EQ(read().parts_of({"f", code_at, max_function_bytes + 1, 0, false}).error().kind,
              ErrorKind::TooLarge);
}

TEST_F(CodeOfAFile, AJumpToAPartBringsIt) {
    function(0, 16);
    function(0x100, 8, true);
    function(0x200, 8);
    jump(4, 0x102);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264"));
    code_.clear();
    jump(4, 0x200);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16")) << "a tail call";
    code_.clear();
    jump(4, 0x102, 0xe8);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16")) << "a call";
}

TEST_F(CodeOfAFile, AConditionalJumpBringsAPartToo) {
    function(0, 16);
    function(0x100, 8, true);
    code(4, Bytes().u8(0x0f).u8(0x84).u32(0x102 - 4 - 6));
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264"));
}

TEST_F(CodeOfAFile, AFunctionHasAtMostSixteenParts) {
    function(0, 0x100);
    for (std::uint64_t part = 0; part < 15; ++part) {
        function(0x400 + 16 * part, 8, true);
        jump(4 + 5 * part, 0x402 + 16 * part);
    }
    EXPECT_EQ(parts(0, 0x100).size(), 16U);
    function(0x600, 8, true);
    jump(4 + 5 * 15, 0x602);
    EXPECT_THAT(parts(0, 0x100),
                ElementsAre("has more than 16 parts, or parts of more than 4194304 bytes"));
}

TEST_F(CodeOfAFile, FourJumpsToOtherFunctionsAreFollowed) {
    for (std::uint64_t at = 0; at < 6 * 32; at += 32) {
        named("f" + std::to_string(at), at, 5);
        jump(at, at + 32);
    }
    EXPECT_THAT(parts(0, 5), ElementsAre("0-5", "32-37+", "64-69+", "96-101+", "128-133+"));
}

TEST_F(CodeOfAFile, WhereTheStackIsDeeperAJumpIsNoTailCall) {
    cie_ = frames_.usual_cie();
    // After one byte, something is on the stack.
    frames_.function(*cie_, code_at, 16, Bytes().u8(0x41).u8(define_cfa_offset).uleb(16).text());
    function(16, 8);
    function(0x100, 8);
    jump(4, 0x100);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264"));
    named("g", 0x100, 8);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16")) << "it has a name of its own";
    code_.clear();
    jump(4, 0x102);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264")) << "not at its begin";
    code_.clear();
    jump(4, 16);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16")) << "what follows its end is never reached";
}

TEST_F(CodeOfAFile, AFunctionThatOnlyJumpsEndsWhereTheOtherDoes) {
    named("f", 0, 5);
    named("g", 0x100, 8);
    jump(0, 0x100);
    EXPECT_THAT(parts(0, 5), ElementsAre("0-5", "256-264+"));
}

TEST_F(CodeOfAFile, ANamedPartBelongsToTheOnlyFunctionOfThatName) {
    named("f", 0, 16);
    named("f.cold", 0x100, 8);
    named("g.cold", 0x200, 8);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264"));
    // With another function of that name, only jumps tell.
    functions_.insert(functions_.begin() + 1,
                      Function{"f", code_at + 0x80, 8, code_file_offset + 0x80, false});
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16"));
    jump(0x100, 4);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16", "256-264"));
    EXPECT_THAT(parts(0x80, 8), ElementsAre("128-136"));
}

TEST_F(CodeOfAFile, APartThatIsCalledIsAFunction) {
    named("f", 0, 16);
    named("f.cold", 0x100, 8);
    jump(4, 0x100, 0xe8);
    EXPECT_THAT(parts(0, 16), ElementsAre("0-16"));
}

TEST_F(CodeOfAFile, FunctionsAreKnownByTheirFirstInstruction) {
    named("f.cold@V1", 0, 16);
    named("f@@V1", 0, 16);
    named("g", 0x20, 16);
    const ProgramCode& code = read();
    EXPECT_EQ(code.function_at(code_at), "f@@V1");
    EXPECT_EQ(code.function_at(code_at + 0x20), "g");
    EXPECT_EQ(code.function_at(code_at + 1), "");
    EXPECT_EQ(code.function_at(code_at + 0x100), "");
}

TEST_F(CodeOfAFile, LevelsAreThoseOfTheFunctionAround) {
    function(0, 16);
    function(0x100, 8, true);
    const ProgramCode& code = read();
    for (int again = 0; again < 2; ++again) {
        EXPECT_EQ(code.level_at(code_at + 3), StackLevel::Entry);
        EXPECT_EQ(code.level_at(code_at + 0x103), StackLevel::Deeper);
        EXPECT_EQ(code.level_at(code_at + 0x50), StackLevel::Unknown);
    }
}

TEST_F(CodeOfAFile, TablesEndOutsideTheParts) {
    Branch jump;
    jump.kind = BranchKind::IndirectJump;
    jump.table = TableKind::Sum;
    jump.table_address = table_address;
    const std::vector<CodePart> parts{{code_at, code_at + 16, 0, {}}};
    const auto sums = [&](const std::vector<std::uint64_t>& targets) {
        Bytes table;
        for (const std::uint64_t target : targets) table.u32(code_at + target - table_address);
        return read(table).cases_within(jump, parts);
    };
    EXPECT_THAT(sums({4, 15, 16, 2}), ElementsAre(code_at + 4, code_at + 15));
    EXPECT_THAT(sums({16, 4}), ElementsAre());
    jump.table = TableKind::Pointers;
    EXPECT_THAT(read(Bytes().u64(code_at + 4).u64(code_at + 7).u64(0)).cases_within(jump, parts),
                ElementsAre(code_at + 4, code_at + 7));
    jump.table_address = 0;
    EXPECT_TRUE(read().cases_within(jump, parts).empty());
    jump.table_address = 0x123456789;
    EXPECT_TRUE(read().cases_within(jump, parts).empty());
    jump.table_address = table_address;
    jump.kind = BranchKind::IndirectCall;
    EXPECT_TRUE(read(Bytes().u64(code_at)).cases_within(jump, parts).empty());
}

}  // namespace
}  // namespace lagtrap::binaries::test::program_code_test
