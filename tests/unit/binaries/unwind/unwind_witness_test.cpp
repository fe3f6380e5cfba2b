// Checks every rule of the tables of real files against libdw from elfutils.
#include "tests/unit/binaries/unwind_witness.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/unwind/unwind_table.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/binaries/unwind_support.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::test::unwind_witness_test {
namespace {

using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

const std::filesystem::path exits_folder = build_folder() + "/binaries/exits";
const std::filesystem::path frames_folder = build_folder() + "/binaries/frames";

struct Comparison {
    std::uint64_t places = 0;
    std::uint64_t unsupported = 0;
    std::uint64_t start_code = 0;           // addresses at the entry that libdw does not know
    std::vector<std::uint64_t> ours_alone;  // other addresses that it does not know
    std::uint64_t rbx_given_up = 0;
    std::uint64_t rbp_given_up = 0;  // no rule can express where the caller's rbp is
    std::map<lagtrap_unwind_kind, std::uint64_t> kinds;
    std::uint64_t differences = 0;
    std::string first_difference;
};

std::string described(const CallerFrame& frame) {
    std::ostringstream text;
    text << std::hex << "found " << frame.found << " signal " << frame.signal << " cfa "
         << frame.cfa.value_or(0) << " rbp " << static_cast<int>(frame.rbp.form) << ":"
         << frame.rbp.address << " rbx " << static_cast<int>(frame.rbx.form) << ":"
         << frame.rbx.address << " return " << static_cast<int>(frame.return_address.form) << ":"
         << frame.return_address.address;
    return text.str();
}

void compare_at(std::uint64_t address, const UnwindTable& table, const Witness& witness,
                Comparison& comparison) {
    MadeUpMachine machine;
    machine.pc = address;
    const auto rule = find_unwind_rule(table, address);
    const auto kind = kind_of(rule);
    const CallerFrame right = witness.frame_at(machine);
    const CallerFrame ours = frame_by(rule, machine);
    ++comparison.places;
    ++comparison.kinds[kind];
    bool same = ours.found == right.found;
    if (kind == LAGTRAP_UNWIND_UNSUPPORTED) {
        ++comparison.unsupported;
    } else if (kind == LAGTRAP_UNWIND_END && !right.found) {
        ++comparison.start_code;
        same = true;
    } else if (ours.found && !right.found) {
        comparison.ours_alone.push_back(address);
        same = true;
    } else if (kind == LAGTRAP_UNWIND_END) {
        same = same && right.return_address.form == CallerRegister::Form::Unknown;
    } else if (same && ours.found) {
        same = ours.cfa == right.cfa && ours.signal == right.signal &&
               ours.return_address == right.return_address;
        const bool given_up =
            rbp_of(rule) == LAGTRAP_UNWIND_RBP_UNDEFINED && kind != LAGTRAP_UNWIND_SIGNAL;
        if (given_up && right.rbp.form != CallerRegister::Form::Unknown) ++comparison.rbp_given_up;
        same = same && (given_up || ours.rbp == right.rbp);
        const bool rbx_given_up =
            rule.rbx_words == LAGTRAP_UNWIND_RBX_UNKNOWN || kind == LAGTRAP_UNWIND_SIGNAL;
        if (rbx_given_up && kind != LAGTRAP_UNWIND_SIGNAL) ++comparison.rbx_given_up;
        // libdw treats unspecified registers as lost. By the ABI (System V for x86-64, 3.2.1) they
        // are the caller's.
        const bool unspecified = ours.rbx.form == CallerRegister::Form::Same &&
                                 right.rbx.form == CallerRegister::Form::Unknown;
        same = same && (rbx_given_up || unspecified || ours.rbx == right.rbx);
    }
    if (same) return;
    std::ostringstream text;
    text << std::hex << "at 0x" << address << " kind " << kind << ": ours " << described(ours)
         << ", libdw " << described(right);
    if (comparison.differences++ == 0) comparison.first_difference = text.str();
}

// At the start, in the middle and at the end of every row that either of the two has.
Comparison compare(const UnwindTable& table, const Witness& witness,
                   const std::vector<std::uint64_t>& functions) {
    Comparison comparison;
    auto starts = witness.row_starts(functions);
    const auto own = rows_of(table);
    EXPECT_EQ(own.problem, "");
    for (const auto& row : own.rows) {
        starts.insert(row.address);
        if (kind_of(row.rule) != LAGTRAP_UNWIND_PLT) continue;
        for (std::uint64_t address = row.address; address < row.address + 256; ++address)
            starts.insert(address);
    }
    for (auto start = starts.begin(); start != starts.end(); ++start) {
        const auto next = std::next(start);
        const std::uint64_t end = next == starts.end() ? *start + 1 : *next;
        std::set<std::uint64_t> places{*start, *start + (end - *start) / 2, end - 1};
        for (const std::uint64_t address : places) compare_at(address, table, witness, comparison);
    }
    return comparison;
}

Comparison compare_file(const std::filesystem::path& path) {
    const auto table = table_of_file(path);
    EXPECT_TRUE(table) << table.error().message;
    if (!table) return {};
    const Witness witness(path);
    const auto functions = witness.indexed_functions();
    EXPECT_FALSE(functions.empty()) << path;
    const auto comparison = compare(*table, witness, functions);
    EXPECT_EQ(comparison.differences, 0U) << path << ": " << comparison.first_difference;
    std::cout << path.string() << ": " << table->row_count << " rows, " << table->unsupported_rows
              << " unsupported, " << table->size_bytes() / 1024 << " KiB; " << comparison.places
              << " places compared, " << comparison.rbp_given_up << " where rbp is given up, "
              << comparison.rbx_given_up << " where rbx is\n";
    // At most one row, at the file's entry, which libdw does not know.
    EXPECT_LE(comparison.start_code, 3U) << path;
    EXPECT_THAT(comparison.ours_alone, IsEmpty()) << path;
    // In real code almost nothing may be unsupported.
    EXPECT_LT(static_cast<double>(table->unsupported_rows),
              0.005 * static_cast<double>(table->row_count))
        << path;
    return comparison;
}

class RealFile : public ::testing::TestWithParam<std::string> {};

TEST_P(RealFile, HasTheRulesThatLibdwFinds) {
    const auto path = std::filesystem::canonical(GetParam());
    EXPECT_GT(compare_file(path).places, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Unwind, RealFile,
                         ::testing::Values("/lib/x86_64-linux-gnu/libstdc++.so.6",
                                           "/lib/x86_64-linux-gnu/libcrypto.so.3",
                                           "/lib64/ld-linux-x86-64.so.2", "/bin/bash",
                                           "/usr/bin/python3"),
                         [](const auto& parameter) {
                             std::string name =
                                 std::filesystem::path(parameter.param).filename().string();
                             std::erase_if(name,
                                           [](unsigned char c) { return std::isalnum(c) == 0; });
                             return name;
                         });

TEST(UnwindWitness, TakesTheDynamicLinkersStartCodeForTheFirstFrame) {
    const auto path = std::filesystem::canonical("/lib64/ld-linux-x86-64.so.2");
    const auto image = open_image(path);
    const auto table = table_of_file(path);
    ASSERT_TRUE(image && table);
    EXPECT_EQ(kind_of(find_unwind_rule(*table, image->entry())), LAGTRAP_UNWIND_END);
}

TEST(UnwindWitness, AgreesOnLibcWithItsSignalFrameAndFirstFrames) {
    const auto comparison = compare_file("/lib/x86_64-linux-gnu/libc.so.6");
    EXPECT_GT(comparison.places, 40'000U);
    EXPECT_GT(comparison.kinds.at(LAGTRAP_UNWIND_SIGNAL), 0U);
    EXPECT_GT(comparison.kinds.at(LAGTRAP_UNWIND_END), 0U);
    EXPECT_GT(comparison.kinds.at(LAGTRAP_UNWIND_PLT), 0U);
}

TEST(UnwindWitness, AgreesOnProgramsOfEachCompiler) {
    for (const char* name :
         {"gcc_O0", "gcc_O2", "gcc_O2_no_plt", "gcc_O2_cet", "clang_O0", "clang_O2"})
        EXPECT_GT(compare_file(exits_folder / ("exits_" + std::string(name) + ".so")).places, 100U)
            << name;
}

// In a procedure linkage table with branch tracking, the stub pushes later within its 16 bytes.
TEST(UnwindWitness, AgreesOnBothFormsOfProcedureLinkageTables) {
    for (const char* name : {"frames_lazy.so", "frames_ibt.so"}) {
        const auto comparison = compare_file(frames_folder / name);
        ASSERT_EQ(comparison.kinds.count(LAGTRAP_UNWIND_PLT), 1U) << name;
        EXPECT_GE(comparison.kinds.at(LAGTRAP_UNWIND_PLT), 64U) << name;
    }
}

TEST(UnwindWitness, AgreesOnFramesThatAreAlignedAnew) {
    const auto comparison = compare_file(frames_folder / "frames_lazy.so");
    EXPECT_EQ(comparison.kinds.count(LAGTRAP_UNWIND_DEREFERENCE), 1U);
    EXPECT_EQ(comparison.unsupported, 0U);
}

std::vector<std::uint64_t> functions_by_name(const std::filesystem::path& path) {
    std::vector<std::uint64_t> starts;
    std::istringstream lines(output_of("nm --defined-only '" + path.string() + "'"));
    for (std::string address, type, name; lines >> address >> type >> name;) {
        if (type == "T" && name != "_init" && name != "_fini")
            starts.push_back(std::stoull(address, nullptr, 16));
    }
    std::sort(starts.begin(), starts.end());
    return starts;
}

// The jumps at the start of linkage table entries, as objdump shows them: bytes, then "jmp
// *0x...".
std::set<std::uint64_t> bytes_of_linkage_jumps(const std::filesystem::path& path) {
    std::set<std::uint64_t> places;
    std::istringstream lines(output_of("objdump -d -j .plt -j .plt.got '" + path.string() +
                                       "' | grep -P '\\tff 25 .*\\tjmp +\\*'"));
    for (std::string line; std::getline(lines, line);) {
        const std::uint64_t start = std::stoull(line, nullptr, 16);
        if (start % 8 != 0) continue;  // the first entry's, which follows a push
        for (std::uint64_t place = start; place < start + 6; ++place) places.insert(place);
    }
    return places;
}

// The linker does not describe a linkage table if nothing else has .eh_frame.
TEST(UnwindWitness, AgreesOnDebugFramesPlainAndPacked) {
    for (const char* name : {"frames_debug.so", "frames_debug_packed.so"}) {
        const auto path = frames_folder / name;
        const auto table = table_of_file(path);
        ASSERT_TRUE(table) << table.error().message;
        const auto functions = functions_by_name(path);
        ASSERT_EQ(functions.size(), 5U);
        for (const std::uint64_t function : functions)
            EXPECT_EQ(kind_of(find_unwind_rule(*table, function)), LAGTRAP_UNWIND_REGISTER) << name;
        const auto comparison = compare(*table, Witness(path), functions);
        EXPECT_EQ(comparison.differences, 0U) << name << ": " << comparison.first_difference;
        EXPECT_GT(comparison.places, 100U);
        EXPECT_THAT(comparison.ours_alone, SizeIs(Ge(4U)));
        EXPECT_THAT(bytes_of_linkage_jumps(path), IsSupersetOf(comparison.ours_alone));
    }
    EXPECT_NE(output_of("readelf -SW '" + (frames_folder / "frames_debug_packed.so").string() +
                        "' | grep debug_frame | grep ' C '"),
              "");
}

// The kernel's code that is mapped into every process.
std::string vdso() {
    const auto start = ::getauxval(AT_SYSINFO_EHDR);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::uint64_t from = 0;
        std::uint64_t to = 0;
        char dash = 0;
        std::istringstream(line) >> std::hex >> from >> dash >> to;
        if (from == start)
            return {reinterpret_cast<const char*>(from), static_cast<std::size_t>(to - from)};
    }
    return {};
}

TEST(UnwindWitness, AgreesOnTheVdso) {
    const std::string bytes = vdso();
    ASSERT_FALSE(bytes.empty());
    const auto image = ElfImage::from_bytes(bytes, "vdso");
    ASSERT_TRUE(image) << image.error().message;
    const auto table = make_unwind_table(*image);
    ASSERT_TRUE(table) << table.error().message;
    const Witness witness(Witness::Image{bytes});
    const auto comparison = compare(*table, witness, witness.indexed_functions());
    EXPECT_EQ(comparison.differences, 0U) << comparison.first_difference;
    EXPECT_GT(comparison.places, 20U);
    EXPECT_EQ(comparison.unsupported, 0U);
    ASSERT_EQ(table->segments.size(), 1U);
}

}  // namespace
}  // namespace lagtrap::binaries::test::unwind_witness_test
