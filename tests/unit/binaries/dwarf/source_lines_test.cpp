#include "binaries/dwarf/source_lines.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/debug_files.hpp"
#include "tests/unit/binaries/debug_support.hpp"

namespace lagtrap::binaries::test::source_lines_test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

std::filesystem::path plain_path(const std::string& path) {
    return std::filesystem::path(path).lexically_normal();
}

struct Shown {
    std::string function;  // mangled
    std::string file;
    std::uint32_t line = 0;
};

// The output of a tool in addr2line's format for each address, in order.
std::vector<std::vector<Shown>> shown_by(const std::string& tool,
                                         const std::vector<std::uint64_t>& addresses) {
    const TemporaryFolder folder;
    std::ostringstream asked;
    asked << std::hex;
    for (const auto address : addresses) asked << "0x" << address << '\n';
    write(folder.path() / "addresses", asked.str());
    std::istringstream lines(
        output_of(tool + " < " + (folder.path() / "addresses").string() + " 2>/dev/null"));
    std::vector<std::vector<Shown>> all;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("0x")) {
            all.emplace_back();
            continue;
        }
        std::string place;
        if (all.empty() || line.empty() || !std::getline(lines, place)) continue;
        place = place.substr(0, place.find(" (discriminator"));
        const auto colon = place.rfind(':');
        const std::string number = place.substr(colon + 1);
        all.back().push_back(Shown{line, place.substr(0, colon),
                                   number == "?" ? 0U : std::uint32_t(std::stoul(number))});
    }
    return all;
}

// The tools take the outermost name from the symbol table; it may be missing in the DWARF, or end
// with ".cold".
bool same_name(const std::string& ours, const std::string& mangled) {
    const std::string whole = demangle(mangled);
    const bool is_lambda = ours.find("::{lambda}::") != std::string::npos &&
                           whole.find("::{lambda(") != std::string::npos;
    return ours == whole || whole.starts_with(ours + " [clone ") || is_lambda ||
           (!ours.empty() && ours == demangle_without_parameters(mangled));
}

// Compares all frames.
std::string difference(const std::vector<SourceFrame>& ours, const std::vector<Shown>& theirs) {
    std::ostringstream text;
    if (ours.size() != theirs.size()) text << ours.size() << " frames, not " << theirs.size();
    for (std::size_t index = 0; index < std::min(ours.size(), theirs.size()); ++index) {
        const auto& [function, file, line] = ours[index];
        const auto& shown = theirs[index];
        if (!same_name(function, shown.function))
            text << "; frame " << index << " is " << function << ", not "
                 << demangle(shown.function);
        if (plain_path(file) != plain_path(shown.file) || line != shown.line)
            text << "; frame " << index << " is at " << file << ":" << line << ", not "
                 << shown.file << ":" << shown.line;
    }
    return text.str();
}

void expect_agreement(const std::filesystem::path& program, const std::filesystem::path& debug_file,
                      const std::vector<std::uint64_t>& addresses, const std::string& tool) {
    ASSERT_GT(addresses.size(), 500U);
    auto lines = SourceLines::open(program, debug_file, {});
    ASSERT_TRUE(lines) << lines.error().message;
    const auto file = ProgramFile::open(program);
    const auto shown = shown_by(tool, addresses);
    ASSERT_EQ(shown.size(), addresses.size()) << tool;
    std::size_t deepest = 0;
    for (std::size_t index = 0; index < addresses.size(); ++index) {
        const auto frames = lines->frames_at(file->file_offset_of(addresses[index]).value_or(0));
        deepest = std::max(deepest, frames.size());
        ASSERT_EQ(difference(frames, shown[index]), "")
            << tool << " at 0x" << std::hex << addresses[index] << " of " << program;
    }
    EXPECT_GE(deepest, 3U) << "the test program's inlined calls";
}

class SourceLinesOf : public ::testing::TestWithParam<const char*> {};

TEST_P(SourceLinesOf, AgreesWithLlvmSymbolizerOnEveryAddress) {
    const auto program = inlines(GetParam());
    expect_agreement(program, program, planted_addresses(program),
                     "llvm-symbolizer --output-style=GNU --addresses --functions=linkage --inlines "
                     "--no-demangle --obj=" +
                         program.string());
}

TEST_P(SourceLinesOf, FindsTheSameInAnyOrderAndByAddress) {
    const auto program = inlines(GetParam());
    auto addresses = planted_addresses(program);
    const auto file = ProgramFile::open(program);
    auto lines = SourceLines::open(program, program, {});
    auto again = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines);
    ASSERT_TRUE(again);
    std::map<std::uint64_t, std::string> known;
    const auto text_of = [](const std::vector<SourceFrame>& frames) {
        std::ostringstream text;
        for (const auto& frame : frames)
            text << frame.function << ' ' << frame.file << ':' << frame.line << '\n';
        return text.str();
    };
    for (const auto address : addresses)
        known[address] = text_of(lines->frames_at(file->file_offset_of(address).value_or(0)));
    std::shuffle(addresses.begin(), addresses.end(), std::mt19937(7));
    for (const auto address : addresses)
        ASSERT_EQ(text_of(again->frames_at_address(address)), known[address]);
}

INSTANTIATE_TEST_SUITE_P(Compilers, SourceLinesOf,
                         ::testing::Values("gcc_dwarf4", "gcc_dwarf5", "gcc_no_pie", "gcc_zlib",
                                           "clang_dwarf4", "clang_dwarf5"),
                         [](const auto& kind) { return std::string(kind.param); });

class SourceLinesOfGcc : public ::testing::TestWithParam<const char*> {};

// Not for clang: addr2line 2.40 misses some inlined calls in its DWARF 5.
TEST_P(SourceLinesOfGcc, AgreesWithAddr2lineOnEveryAddress) {
    const auto program = inlines(GetParam());
    expect_agreement(program, program, planted_addresses(program),
                     "addr2line -a -f -i -e " + program.string());
}

INSTANTIATE_TEST_SUITE_P(Versions, SourceLinesOfGcc,
                         ::testing::Values("gcc_dwarf4", "gcc_dwarf5", "gcc_zlib"),
                         [](const auto& kind) { return std::string(kind.param); });

// The source text at this place.
std::string source_at(const SourceFrame& frame) {
    std::istringstream text(content_of(frame.file));
    std::string line;
    for (std::uint32_t number = 0; number < frame.line; ++number) std::getline(text, line);
    return line;
}

// settle calls transfer, which calls mix: each frame has its own file, and the line of its call.
TEST(SourceLines, SpellsAChainOfInlinedCalls) {
    const auto program = inlines("gcc_dwarf5");
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines);
    bool seen = false;
    for (const auto address : planted_addresses(program)) {
        const auto frames = lines->frames_at_address(address);
        if (frames.size() != 3 || frames[0].function != "long planted::mix<long>(long, long)")
            continue;
        if (frames[2].function != "planted::settle(planted::Account*, int)") continue;
        EXPECT_EQ(frames[1].function,
                  "planted::transfer(planted::Account&, planted::Account&, long)");
        EXPECT_THAT(frames[0].file, EndsWith("/tests/data/binaries/inlines/inlines.hpp"));
        EXPECT_THAT(frames[1].file, EndsWith("/tests/data/binaries/inlines/inlines.hpp"));
        EXPECT_THAT(frames[2].file, EndsWith("/tests/data/binaries/inlines/settle.cpp"));
        EXPECT_THAT(source_at(frames[1]), HasSubstr("mix")) << frames[1].line;
        EXPECT_THAT(source_at(frames[2]), HasSubstr("transfer(")) << frames[2].line;
        seen = true;
    }
    EXPECT_TRUE(seen);
}

TEST(SourceLines, GivesStaticFunctionsTheirScopes) {
    const auto program = inlines("gcc_dwarf5");
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines);
    std::set<std::string> seen;
    for (const auto address : planted_addresses(program)) {
        const auto frames = lines->frames_at_address(address);
        ASSERT_FALSE(frames.empty());
        seen.insert(frames.back().function);
    }
    EXPECT_THAT(seen, ::testing::IsSupersetOf({"planted::(anonymous namespace)::Weights::weigh",
                                               "planted::settle::{lambda}::operator()"}));
}

TEST(SourceLines, HasNothingWhereThereIsNoCode) {
    const auto program = inlines("gcc_dwarf5");
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines);
    for (const std::uint64_t offset :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{64}, ~std::uint64_t{0}})
        EXPECT_TRUE(lines->frames_at(offset).empty()) << offset;
    // thrown_out() would begin here if its ranges were used.
    for (std::uint64_t address = 0; address < 64; ++address)
        EXPECT_TRUE(lines->frames_at_address(address).empty());
}

TEST(SourceLines, FollowsReferencesBetweenUnitsOfLinkTimeOptimisation) {
    const auto program = inlines("gcc_lto");
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines) << lines.error().message;
    std::size_t deepest = 0;
    const auto addresses = planted_addresses(program);
    ASSERT_FALSE(addresses.empty());
    for (const auto address : addresses) {
        const auto frames = lines->frames_at_address(address);
        deepest = std::max(deepest, frames.size());
        for (const auto& frame : frames) EXPECT_NE(frame.function, "") << std::hex << address;
    }
    EXPECT_GE(deepest, 3U);
}

TEST(SourceLines, KnowsLinesWhereFunctionsAreInAnotherFile) {
    const auto program = inlines("gcc_split");  // .dwo files are not read
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines) << lines.error().message;
    std::size_t with_line = 0;
    for (const auto address : planted_addresses(program)) {
        const auto frames = lines->frames_at_address(address);
        if (frames.empty()) continue;
        ASSERT_EQ(frames.size(), 1U);
        EXPECT_EQ(frames[0].function, "");
        EXPECT_THAT(frames[0].file, HasSubstr("/tests/data/binaries/inlines/"));
        ++with_line;
    }
    EXPECT_GT(with_line, 500U);
}

TEST(SourceLines, ReadsTheSeparateDebugFile) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_dwarf5"), folder.path(), false);
    auto addresses = planted_addresses(inlines("gcc_dwarf5"));
    expect_agreement(split.program, split.debug_file, addresses,
                     "addr2line -a -f -i -e " + inlines("gcc_dwarf5").string());
    // The same by address only, without the program.
    auto alone = SourceLines::open(split.debug_file, split.debug_file, {});
    ASSERT_TRUE(alone);
    auto both = SourceLines::open(split.program, split.debug_file, {});
    ASSERT_TRUE(both);
    for (const auto address : addresses) {
        ASSERT_EQ(alone->frames_at_address(address).size(),
                  both->frames_at_address(address).size());
        ASSERT_FALSE(alone->frames_at_address(address).empty());
    }
}

TEST(SourceLines, RefusesTheDebugFileOfAnotherBuild) {
    const TemporaryFolder folder;
    const SplitProgram split(inlines("gcc_other"), folder.path(), false);
    const auto lines = SourceLines::open(inlines("gcc_dwarf5"), split.debug_file, {});
    ASSERT_FALSE(lines);
    EXPECT_EQ(lines.error().kind, ErrorKind::Invalid);
    EXPECT_THAT(lines.error().message,
                HasSubstr("has build id " + build_id_of(inlines("gcc_other"))));
}

TEST(SourceLines, SaysWhyThereAreNone) {
    const auto kind_of = [](const std::filesystem::path& path, DebugInfoLimits limits = {}) {
        const auto lines = SourceLines::open(path, path, limits);
        return lines ? ErrorKind::Busy : lines.error().kind;
    };
    EXPECT_EQ(kind_of(inlines("none")), ErrorKind::NotFound);
    EXPECT_EQ(kind_of("/no/such/file"), ErrorKind::NotFound);
    EXPECT_EQ(kind_of("/"), ErrorKind::Invalid);
    EXPECT_EQ(kind_of(inlines("gcc_dwarf5"), DebugInfoLimits{4'096, 192 << 20}),
              ErrorKind::TooLarge);
    EXPECT_EQ(kind_of(inlines("gcc_zlib"), DebugInfoLimits{1 << 30, 1'000}), ErrorKind::TooLarge)
        << "unpacked";
    EXPECT_EQ(kind_of(inlines("gcc_dwarf5"), DebugInfoLimits{1 << 30, 4'000}), ErrorKind::TooLarge)
        << "units";
}

class CompressedSections : public ::testing::TestWithParam<const char*> {};

TEST_P(CompressedSections, AreUnpacked) {
    const TemporaryFolder folder;
    const auto packed = folder.path() / "program";
    run(std::string("objcopy --compress-debug-sections=") + GetParam() + " " +
        inlines("gcc_dwarf5").string() + " " + packed.string());
    ASSERT_THAT(output_of("readelf -t " + packed.string()), HasSubstr("COMPRESSED"));
    expect_agreement(packed, packed, planted_addresses(packed),
                     "addr2line -a -f -i -e " + inlines("gcc_dwarf5").string());
}

INSTANTIATE_TEST_SUITE_P(Ways, CompressedSections, ::testing::Values("zlib", "zstd"),
                         [](const auto& kind) { return std::string(kind.param); });

// dwz moves what two debug files have in common to a third.
struct DwzFiles {
    explicit DwzFiles(const std::filesystem::path& folder) {
        std::filesystem::create_directories(folder / "debug/.dwz");
        for (const char* name : {"gcc_dwarf4", "gcc_other"}) {
            const auto copy = folder / "debug" / (std::string(name) + ".debug");
            run("objcopy --only-keep-debug " + inlines(name).string() + " " + copy.string());
        }
        run("cd " + (folder / "debug").string() +
            " && dwz -L none -l none -m .dwz/common.debug -M " +
            (folder / "debug/.dwz/common.debug").string() + " gcc_dwarf4.debug gcc_other.debug");
        debug_file = folder / "debug/gcc_dwarf4.debug";
        common_file = folder / "debug/.dwz/common.debug";
    }
    std::filesystem::path debug_file;
    std::filesystem::path common_file;
};

TEST(SourceLines, FollowsDwzToItsCommonFile) {
    const TemporaryFolder folder;
    const DwzFiles files(folder.path());
    ASSERT_TRUE(std::filesystem::exists(files.common_file));
    const auto program = inlines("gcc_dwarf4");
    expect_agreement(program, files.debug_file, planted_addresses(program),
                     "addr2line -a -f -i -e " + program.string());

    // Found by build id and, if the tree was moved, by the part of the name that every tree has.
    std::filesystem::create_directories(folder.path() / "moved/deep/.dwz");
    const auto moved = folder.path() / "moved/deep/gcc_dwarf4.debug";
    std::filesystem::rename(files.debug_file, moved);
    std::filesystem::rename(files.common_file, folder.path() / "moved/.dwz-away");
    EXPECT_FALSE(find_alternate_file(moved));
    const std::string notes =
        output_of("readelf -n " + (folder.path() / "moved/.dwz-away").string());
    const auto id = notes.substr(notes.find("Build ID: ") + 10, 40);
    std::filesystem::copy_file(folder.path() / "moved/.dwz-away",
                               build_id_place(folder.path() / "moved", id));
    EXPECT_EQ(find_alternate_file(moved), build_id_place(folder.path() / "moved", id));
    expect_agreement(program, moved, planted_addresses(program),
                     "addr2line -a -f -i -e " + program.string());
}

TEST(SourceLines, LosesNamesAloneWithoutDwzsCommonFile) {
    const TemporaryFolder folder;
    const DwzFiles files(folder.path());
    std::filesystem::remove(files.common_file);
    const auto program = inlines("gcc_dwarf4");
    auto lines = SourceLines::open(program, files.debug_file, {});
    ASSERT_TRUE(lines);
    std::size_t nameless = 0;
    for (const auto address : planted_addresses(program)) {
        const auto frames = lines->frames_at_address(address);
        ASSERT_FALSE(frames.empty());
        EXPECT_THAT(frames[0].file, HasSubstr("/tests/data/binaries/inlines/"));
        for (const auto& frame : frames) nameless += frame.function.empty() ? 1 : 0;
    }
    EXPECT_GT(nameless, 0U);
}

TEST(SourceLines, GivesNothingOnceTheFileWasCutOff) {
    const TemporaryFolder folder;
    const auto program = folder.path() / "program";
    std::filesystem::copy_file(inlines("gcc_dwarf5"), program);
    auto lines = SourceLines::open(program, program, {});
    ASSERT_TRUE(lines);
    const auto addresses = planted_addresses(program);
    ASSERT_FALSE(lines->frames_at_address(addresses.front()).empty());
    std::filesystem::resize_file(program, 4'096);
    // The pages may still be in memory or not: either no frames or the earlier ones, but never a
    // signal.
    auto opened_after = SourceLines::open(inlines("gcc_dwarf5"), inlines("gcc_dwarf5"), {});
    ASSERT_TRUE(opened_after);
    EXPECT_FALSE(opened_after->frames_at_address(addresses.front()).empty());
    EXPECT_TRUE(lines->frames_at_address(addresses.back()).empty());
}

// A small budget makes libdw reopen files and drop units, but the answers stay the same.
TEST(SourceLines, IsAsGoodWithLittleMemory) {
    const auto program = inlines("gcc_dwarf5");
    auto addresses = planted_addresses(program);
    auto rich = SourceLines::open(program, program, {});
    auto poor = SourceLines::open(program, program, DebugInfoLimits{1 << 30, 90'000});
    ASSERT_TRUE(rich);
    ASSERT_TRUE(poor) << poor.error().message;
    std::shuffle(addresses.begin(), addresses.end(), std::mt19937(3));
    for (const auto address : addresses) {
        const auto expected = rich->frames_at_address(address);
        const auto frames = poor->frames_at_address(address);
        ASSERT_EQ(frames.size(), expected.size());
        for (std::size_t index = 0; index < frames.size(); ++index) {
            EXPECT_EQ(frames[index].function, expected[index].function);
            EXPECT_EQ(frames[index].line, expected[index].line);
        }
    }
}

// Flipped bits and truncation within the debug information: any answer is fine, but there must be
// one.
class DamagedDebugInformation : public ::testing::TestWithParam<const char*> {};

TEST_P(DamagedDebugInformation, IsSurvived) {
    const TemporaryFolder folder;
    const std::string sound = content_of(inlines(GetParam()));
    const auto addresses = planted_addresses(inlines(GetParam()));
    std::istringstream sections(output_of("readelf -SW " + inlines(GetParam()).string() +
                                          " | sed 's/^ *\\[ *[0-9]*\\] *//'"));
    std::vector<std::pair<std::size_t, std::size_t>> ranges;
    for (std::string line; std::getline(sections, line);) {
        std::istringstream fields(line);
        std::string name, type, address, offset, size;
        if (fields >> name >> type >> address >> offset >> size && name.starts_with(".debug_"))
            ranges.emplace_back(std::stoul(offset, nullptr, 16), std::stoul(size, nullptr, 16));
    }
    ASSERT_GE(ranges.size(), 5U);
    const char* rounds = std::getenv("LAGTRAP_DAMAGE_ROUNDS");
    const int count = rounds == nullptr ? 120 : std::atoi(rounds);
    const char* seed = std::getenv("LAGTRAP_DAMAGE_SEED");
    std::mt19937 random(seed == nullptr ? 11U : static_cast<unsigned>(std::atoi(seed)));
    int opened = 0;
    for (int round = 0; round < count; ++round) {
        std::string damaged = sound;
        if (round % 10 == 9) {
            damaged.resize(random() % sound.size());
        } else {
            for (int flips = 1 + static_cast<int>(random() % 24); flips > 0; --flips) {
                const auto& [offset, size] = ranges[random() % ranges.size()];
                damaged[offset + random() % size] ^= static_cast<char>(1U << random() % 8);
            }
        }
        write(folder.path() / "damaged", damaged);
        auto lines = SourceLines::open(inlines(GetParam()), folder.path() / "damaged",
                                       DebugInfoLimits{1 << 30, 16 << 20});
        if (!lines) continue;
        ++opened;
        for (std::size_t index = random() % 7; index < addresses.size(); index += 7)
            (void)lines->frames_at_address(addresses[index]);
    }
    // In compressed sections, zlib's checksum detects nearly all damage.
    EXPECT_GT(opened, std::string_view(GetParam()) == "gcc_zlib" ? 0 : count / 4);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DamagedDebugInformation,
                         ::testing::Values("gcc_dwarf4", "gcc_dwarf5", "clang_dwarf5", "gcc_zlib",
                                           "gcc_lto"),
                         [](const auto& kind) { return std::string(kind.param); });

}  // namespace
}  // namespace lagtrap::binaries::test::source_lines_test
