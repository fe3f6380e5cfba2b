// Line tables of each version, byte by byte (DWARF 5, 6.2).
#include <dwarf.h>

#include <gtest/gtest.h>

#include "binaries/dwarf/line_table.hpp"
#include "tests/unit/binaries/unwind_support.hpp"

namespace lagtrap::binaries::test::line_program_test {
namespace {

// Instructions.
Bytes set_address(std::uint64_t address) { return Bytes().u8(0).u8(9).u8(2).u64(address); }
const std::string copy = Bytes().u8(DW_LNS_copy);
const std::string end_sequence = Bytes().u8(0).u8(1).u8(1);
Bytes advance_pc(std::uint64_t operations) {
    return Bytes().u8(DW_LNS_advance_pc).uleb(operations);
}
Bytes advance_line(std::int64_t lines) { return Bytes().u8(DW_LNS_advance_line).sleb(lines); }

// Lists of directories and files: as in versions 2 to 4.
const std::string old_lists = Bytes()
                                  .raw(std::string("inc\0/abs\0\0", 10))
                                  .raw(std::string("a.c\0", 4))
                                  .uleb(0)
                                  .uleb(7)
                                  .uleb(8)
                                  .raw(std::string("b.h\0", 4))
                                  .uleb(1)
                                  .uleb(7)
                                  .uleb(8)
                                  .raw(std::string("c.h\0", 4))
                                  .uleb(2)
                                  .uleb(7)
                                  .uleb(8)
                                  .u8(0);

struct Made {
    std::uint16_t version = 3;
    bool wide = false;  // 64-bit DWARF
    std::uint8_t smallest_step = 1;
    std::uint8_t operations_per_step = 1;
    std::uint8_t line_range = 14;
    std::uint8_t opcode_base = 13;
    std::uint8_t address_bytes = 8;
    std::string lists = old_lists;
    std::string program;
    std::uint64_t header_more = 0;  // that the header says it is longer

    [[nodiscard]] std::string bytes() const {
        const auto length = [&](Bytes& into, std::uint64_t size) {
            wide ? into.u64(size) : into.u32(size);
        };
        Bytes tables;
        tables.u8(smallest_step);
        if (version >= 4) tables.u8(operations_per_step);
        tables.u8(1).u8(static_cast<std::uint64_t>(-5)).u8(line_range).u8(opcode_base);
        for (const std::uint8_t operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1})
            tables.u8(operands);
        tables.raw(lists);
        Bytes unit;
        unit.u16(version);
        if (version == 5) unit.u8(address_bytes).u8(0);
        length(unit, tables.size() + header_more);
        unit.raw(tables).raw(program);
        Bytes whole;
        if (wide) whole.u32(0xffffffff);
        length(whole, unit.size());
        return whole.raw(unit);
    }
};

constexpr const char* line_texts = "\0from line_str\0";
const std::string debug_line_str(line_texts, 15), debug_str("\0\0from str\0", 11);

// "FILE:LINE" at these addresses.
std::vector<std::string> places_of(const Made& made, const std::vector<std::uint64_t>& addresses,
                                   std::uint64_t offset = 0) {
    const std::string bytes = std::string(offset, 'x') + made.bytes();
    LineTableSource source;
    source.debug_line = bytes;
    source.debug_line_str = debug_line_str;
    source.debug_str = debug_str;
    source.offset = offset;
    source.directory = "/src";
    source.name = "main.c";
    source.highest_address = ~std::uint64_t{0};
    const auto table = LineTable::read(source, 1 << 20);
    if (!table) return {table.error().message};
    std::vector<std::string> places;
    for (const std::uint64_t address : addresses) {
        const auto place = table->find(address);
        places.push_back(place ? table->file_name(place->file) + ":" + std::to_string(place->line)
                               : "none");
    }
    return places;
}

using Places = std::vector<std::string>;

std::string problem_of(const Made& made) { return places_of(made, {}).at(0); }

TEST(LineProgram, InstructionsMoveTheAddressAndTheLine) {
    Made made;
    made.program = Bytes()
                       .raw(set_address(0x1000))
                       .raw(advance_line(9))
                       .raw(copy)  // 0x1000: line 10
                       .raw(advance_pc(5))
                       .raw(advance_line(-3))
                       .raw(copy)                // 0x1005: 7
                       .u8(13 + 14 * 2 + 6)      // special: 2 further, 1 line on
                       .u8(DW_LNS_const_add_pc)  // as far as opcode 255: 17
                       .raw(copy)                // 0x1018: 8, though not another line
                       .u8(DW_LNS_fixed_advance_pc)
                       .u16(0x100)
                       .u8(DW_LNS_negate_stmt)
                       .u8(DW_LNS_set_column)
                       .uleb(300)
                       .u8(DW_LNS_set_isa)
                       .uleb(2)
                       .raw(advance_line(1))
                       .raw(copy)  // 0x1118: 9
                       .raw(advance_pc(0x10))
                       .raw(end_sequence);
    EXPECT_EQ(
        places_of(made, {0xfff, 0x1000, 0x1004, 0x1005, 0x1007, 0x1017, 0x1018, 0x1117, 0x1118,
                         0x1127, 0x1128}),
        (Places{"none", "/src/a.c:10", "/src/a.c:10", "/src/a.c:7", "/src/a.c:8", "/src/a.c:8",
                "/src/a.c:8", "/src/a.c:8", "/src/a.c:9", "/src/a.c:9", "none"}));
}

TEST(LineProgram, EachSequenceBeginsAnewAndOneWithoutAnEndIsDropped) {
    Made made;
    made.program = Bytes()
                       .raw(set_address(0x1000))
                       .u8(DW_LNS_set_file)
                       .uleb(2)
                       .raw(advance_line(99))
                       .raw(copy)
                       .raw(advance_pc(8))
                       .raw(end_sequence)
                       .raw(set_address(0x2000))
                       .raw(copy)
                       .raw(advance_pc(8))
                       .raw(end_sequence)
                       .raw(set_address(0x3000))
                       .raw(copy);
    EXPECT_EQ(places_of(made, {0x1000, 0x2000, 0x3000}),
              (Places{"/src/inc/b.h:100", "/src/a.c:1", "none"}));
    EXPECT_EQ(places_of(made, {0x1000}, 77), Places{"/src/inc/b.h:100"}) << "later in the section";
}

TEST(LineProgram, FilesHaveTheirDirectory) {
    const auto file = [](std::uint64_t number) {
        Made made;
        made.program = Bytes()
                           .raw(set_address(0x1000))
                           .u8(DW_LNS_set_file)
                           .uleb(number)
                           .raw(copy)
                           .raw(advance_pc(8))
                           .raw(end_sequence);
        return places_of(made, {0x1000}).at(0);
    };
    EXPECT_EQ(file(0), "/src/main.c:1") << "the compilation's own";
    EXPECT_EQ(file(1), "/src/a.c:1");
    EXPECT_EQ(file(2), "/src/inc/b.h:1");
    EXPECT_EQ(file(3), "/abs/c.h:1");
    EXPECT_EQ(file(4), ":1") << "there is none";
}

TEST(LineProgram, RowsAreSortedAndTheLastOneOfAnAddressCounts) {
    Made made;
    made.program = Bytes()
                       .raw(set_address(0x1010))
                       .raw(advance_line(1))
                       .raw(copy)
                       .raw(set_address(0x1000))
                       .raw(advance_line(1))
                       .raw(copy)
                       .raw(advance_line(1))
                       .raw(copy)
                       .raw(set_address(0x1020))
                       .raw(end_sequence);
    EXPECT_EQ(places_of(made, {0x1000, 0x100f, 0x1010}),
              (Places{"/src/a.c:4", "/src/a.c:4", "/src/a.c:2"}));
    made.program = Bytes()
                       .raw(set_address(0x1000))
                       .raw(advance_line(0x1'0000'0000))
                       .raw(copy)
                       .raw(advance_pc(1))
                       .raw(end_sequence);
    EXPECT_EQ(places_of(made, {0x1000}), Places{"/src/a.c:0"}) << "no such line";
}

TEST(LineProgram, ProcessorsMayHaveSeveralOperationsPerStep) {
    Made made;
    made.version = 4;
    made.smallest_step = 16;
    made.operations_per_step = 3;
    made.program = Bytes()
                       .raw(set_address(0x1000))
                       .raw(copy)
                       .raw(advance_pc(2))  // still the first step
                       .raw(advance_line(1))
                       .raw(copy)
                       .raw(advance_pc(2))  // the second one
                       .raw(advance_line(1))
                       .raw(copy)
                       .raw(advance_pc(6))
                       .raw(end_sequence);
    EXPECT_EQ(places_of(made, {0x1000, 0x100f, 0x1010, 0x102f, 0x1030}),
              (Places{"/src/a.c:2", "/src/a.c:2", "/src/a.c:3", "/src/a.c:3", "none"}));
    made.operations_per_step = 0;
    made.program = Bytes().raw(set_address(0x1000)).raw(copy).raw(advance_pc(2)).raw(end_sequence);
    EXPECT_EQ(places_of(made, {0x101f, 0x1020}), (Places{"/src/a.c:1", "none"})) << "as one";
}

// A directory, and files whose name and directory have these forms.
std::string new_lists(std::uint64_t name_form, const std::string& name,
                      std::uint64_t directory_form, const std::string& directory) {
    return Bytes()
        .u8(1)
        .uleb(DW_LNCT_path)
        .uleb(DW_FORM_string)
        .uleb(2)
        .raw(std::string("/top\0sub\0", 9))
        .u8(3)
        .uleb(DW_LNCT_path)
        .uleb(name_form)
        .uleb(DW_LNCT_MD5)
        .uleb(DW_FORM_data16)
        .uleb(DW_LNCT_directory_index)
        .uleb(directory_form)
        .uleb(1)
        .raw(name)
        .raw(std::string(16, 'm'))
        .raw(directory);
}

TEST(LineProgram, NamesAndDirectoriesHaveManyForms) {
    const auto file = [](std::uint64_t name_form, const std::string& name,
                         std::uint64_t directory_form, const std::string& directory,
                         bool wide = false) {
        Made made;
        made.version = 5;
        made.wide = wide;
        made.lists = new_lists(name_form, name, directory_form, directory);
        made.program = Bytes()
                           .raw(set_address(0x1000))
                           .u8(DW_LNS_set_file)
                           .uleb(0)
                           .raw(copy)
                           .raw(advance_pc(8))
                           .raw(end_sequence);
        return places_of(made, {0x1000}).at(0);
    };
    const std::string one = Bytes().uleb(1);
    const std::string own("own.c\0", 6);
    EXPECT_EQ(file(DW_FORM_string, own, DW_FORM_udata, one), "/src/sub/own.c:1");
    EXPECT_EQ(file(DW_FORM_string, own, DW_FORM_udata, Bytes().uleb(0)), "/top/own.c:1");
    EXPECT_EQ(file(DW_FORM_line_strp, Bytes().u32(1), DW_FORM_udata, one),
              "/src/sub/from line_str:1");
    EXPECT_EQ(file(DW_FORM_strp, Bytes().u32(2), DW_FORM_udata, one), "/src/sub/from str:1");
    EXPECT_EQ(file(DW_FORM_line_strp, Bytes().u64(1), DW_FORM_udata, one, true),
              "/src/sub/from line_str:1");
    EXPECT_EQ(file(DW_FORM_strp, Bytes().u64(2), DW_FORM_udata, one, true), "/src/sub/from str:1");
    // Names that are elsewhere, but what follows them is read.
    EXPECT_EQ(file(DW_FORM_strp_sup, Bytes().u32(2), DW_FORM_udata, one), ":1");
    EXPECT_EQ(file(DW_FORM_strx, Bytes().uleb(300), DW_FORM_udata, one), ":1");
    EXPECT_EQ(file(DW_FORM_strx1, Bytes().u8(1), DW_FORM_udata, one), ":1");
    EXPECT_EQ(file(DW_FORM_strx2, Bytes().u16(1), DW_FORM_udata, one), ":1");
    EXPECT_EQ(file(DW_FORM_strx3, std::string(3, '\1'), DW_FORM_udata, one), ":1");
    EXPECT_EQ(file(DW_FORM_strx4, Bytes().u32(1), DW_FORM_udata, one), ":1");
    for (const auto& [form, bytes] :
         {std::pair<std::uint64_t, std::string>{DW_FORM_data1, Bytes().u8(1)},
          {DW_FORM_data2, Bytes().u16(1)},
          {DW_FORM_data4, Bytes().u32(1)},
          {DW_FORM_data8, Bytes().u64(1)},
          {DW_FORM_sdata, Bytes().sleb(1)}})
        EXPECT_EQ(file(DW_FORM_string, own, form, bytes), "/src/sub/own.c:1") << form;
    for (const auto& [form, bytes] :
         {std::pair<std::uint64_t, std::string>{DW_FORM_data16, std::string(16, '\1')},
          {DW_FORM_block, Bytes().block("xy")},
          {DW_FORM_block1, Bytes().u8(2).raw("xy")},
          {DW_FORM_block2, Bytes().u16(2).raw("xy")},
          {DW_FORM_block4, Bytes().u32(2).raw("xy")},
          {DW_FORM_flag, Bytes().u8(1)}})
        EXPECT_EQ(file(DW_FORM_string, own, form, bytes), "/top/own.c:1") << form << ": no number";
    EXPECT_EQ(file(DW_FORM_string, own, DW_FORM_addr, Bytes().u64(1)),
              "damaged line table at 0 of .debug_line: its list of files");
}

TEST(LineProgram, ListsWithoutFieldsAreEmpty) {
    Made made;
    made.version = 5;
    made.lists = Bytes().u8(0).uleb(0).u8(0).uleb(0);
    made.program = Bytes().raw(set_address(0x1000)).raw(copy).raw(advance_pc(8)).raw(end_sequence);
    EXPECT_EQ(places_of(made, {0x1000}), Places{":1"});
    made.lists = Bytes().u8(0).uleb(1).u8(0).uleb(0);
    EXPECT_EQ(problem_of(made), "damaged line table at 0 of .debug_line: its list of files");
}

TEST(LineProgram, SaysWhatIsDamaged) {
    const std::string begin = "damaged line table at 0 of .debug_line: ";
    const auto problem = [](auto change) {
        Made made;
        change(made);
        return problem_of(made);
    };
    EXPECT_EQ(problem([](Made& made) { made.version = 1; }), begin + "its length or its version");
    EXPECT_EQ(problem([](Made& made) { made.version = 6; }), begin + "its length or its version");
    EXPECT_EQ(problem([](Made& made) {
                  made.version = 5;
                  made.address_bytes = 4;
              }),
              begin + "addresses are not of 8 bytes");
    EXPECT_EQ(problem([](Made& made) { made.header_more = 1; }),
              begin + "its header is longer than the table");
    EXPECT_EQ(problem([](Made& made) { made.line_range = 0; }), begin + "its header");
    EXPECT_EQ(problem([](Made& made) { made.opcode_base = 0; }), begin + "its header");
    EXPECT_EQ(problem([](Made& made) { made.lists = "x"; }), begin + "its list of files");
    EXPECT_EQ(problem([](Made& made) { made.program = Bytes().u8(DW_LNS_advance_pc).u8(0x80); }),
              begin + "its program ends in the middle");
    EXPECT_EQ(problem([](Made& made) { made.program = Bytes().u8(0).u8(9).u8(2).u32(1); }),
              begin + "an instruction is longer than the table");
    EXPECT_EQ(problem([](Made& made) { made.program = Bytes().u8(0).u8(5).u8(2).u32(1); }),
              begin + "an address is not of 8 bytes");
    Made unknown;
    unknown.program = Bytes()
                          .u8(0)
                          .u8(3)
                          .u8(0x80)
                          .u16(1)
                          .raw(set_address(0x1000))
                          .raw(copy)
                          .raw(advance_pc(1))
                          .raw(end_sequence);
    EXPECT_EQ(places_of(unknown, {0x1000}), Places{"/src/a.c:1"})
        << "unknown instructions are passed over";
}

}  // namespace
}  // namespace lagtrap::binaries::test::line_program_test
