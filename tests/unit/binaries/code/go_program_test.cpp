// Functions of a Go program: where calls begin and end, compared with objdump and nm.
#include "binaries/code/go_program.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/code/function_places.hpp"
#include "binaries/code/return_sites.hpp"
#include "binaries/elf/program_file.hpp"
#include "tests/unit/binaries/support.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::test::go_program_test {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path program = build_folder() + "/tests/integration/programs/goroutines";
const std::filesystem::path stripped_program = program.string() + "_stripped";

using Listing = std::map<std::uint64_t, std::string>;  // address: instruction

const Listing& listing() {
    static const Listing whole = [] {
        Listing found;
        std::istringstream lines(
            output_of("objdump -d -j .text -w --no-show-raw-insn " + program.string()));
        for (std::string line; std::getline(lines, line);) {
            const auto colon = line.find(":\t");
            if (colon != std::string::npos && line[0] == ' ')
                found[std::stoull(line.substr(0, colon), nullptr, 16)] = line.substr(colon + 2);
        }
        return found;
    }();
    return whole;
}

std::string hexadecimal_of(std::uint64_t address) {
    std::ostringstream text;
    text << std::hex << address;
    return text.str();
}

// A function as objdump shows it.
struct Shown {
    bool begins_anew = false;  // continues after a call that moves the stack
    // an instruction before the entry changes the stack pointer, or is not part of a check
    bool moves_stack = false;
    std::size_t returns = 0;
};

Shown shown_of(const Function& function, std::uint64_t entry) {
    Shown shown;
    const std::string to_begin = "jmp    " + hexadecimal_of(function.address) + " ";
    for (auto at = listing().lower_bound(function.address);
         at != listing().end() && at->first < function.address + function.size; ++at) {
        const std::string& text = at->second;
        shown.begins_anew = shown.begins_anew || text.starts_with(to_begin);
        shown.returns += text.starts_with("ret") ? 1 : 0;
        const bool compares = text.starts_with("cmp ") || text.starts_with("jbe ") ||
                              text.starts_with("jb ") || text.ends_with(",%r12") ||
                              text.ends_with(",%r13") || text.ends_with(",%r14");
        if (at->first < entry && !compares) shown.moves_stack = true;
    }
    return shown;
}

TEST(GoFunctions, BeginBehindTheCheckOfTheStack) {
    const auto file = ProgramFile::open(program);
    ASSERT_TRUE(file);
    const auto functions = file->functions();
    ASSERT_TRUE(functions);
    std::size_t with_check = 0, without = 0;
    for (const Function& function : *functions) {
        const auto offset = function_entry(*file, function);
        if (!offset || function.size == 0) continue;
        const std::uint64_t entry = function.address + (*offset - function.file_offset);
        const Shown shown = shown_of(function, entry);
        EXPECT_EQ(shown.begins_anew, entry != function.address) << function.name;
        EXPECT_FALSE(shown.moves_stack) << function.name;
        ++(shown.begins_anew ? with_check : without);
    }
    EXPECT_GT(with_check, 800U);
    EXPECT_GT(without, 300U);
}

TEST(GoFunctions, EndAtEachReturnThatARecoveredPanicReaches) {
    const auto file = ProgramFile::open(program);
    ASSERT_TRUE(file);
    for (const std::string name :
         {"main.recovered", "main.recoveredInLoop", "main.grow", "main.(*Server).handle"}) {
        const auto functions = file->find_functions(name);
        ASSERT_TRUE(functions && functions->size() == 1) << name;
        const auto exits = function_exits(*file, functions->front());
        ASSERT_TRUE(exits) << exits.error().message;
        EXPECT_EQ(exits->exits.size(), shown_of(functions->front(), 0).returns) << name;
        EXPECT_TRUE(exits->always()) << name;
    }
}

TEST(GoFunctions, OfAStrippedProgramAreThoseOfItsOwnTable) {
    const auto whole = ProgramFile::open(program), stripped = ProgramFile::open(stripped_program);
    ASSERT_TRUE(whole && stripped);
    const auto names = whole->functions(), own = stripped->functions();
    ASSERT_TRUE(names && own);
    std::multiset<std::string> known;
    for (const Function& function : *names)
        known.insert(function.name.substr(0, function.name.find(".abi0")));
    std::size_t both = 0;
    for (const Function& function : *own) both += known.contains(function.name) ? 1 : 0;
    EXPECT_GT(both, 1200U);
    EXPECT_GE(both * 100, own->size() * 99);
}

TEST(GoFunctions, TellWhereGoroutinesHaveTheirNumber) {
    const auto file = ProgramFile::open(program);
    ASSERT_TRUE(file);
    const auto places = function_places(
        *file, {{"main.grow", false}, {"main.grow", true}, {"runtime.memmove", false}});
    ASSERT_TRUE(places) << places.error().message;
    for (const auto& place : *places) {
        ASSERT_TRUE(place) << place.error().message;
        EXPECT_GE(place->goid_offset, 152U);
        EXPECT_FALSE(place->return_probe);
    }
    EXPECT_FALSE((*places)[0]->arguments_on_stack);
    EXPECT_TRUE((*places)[2]->arguments_on_stack);
    const auto redis = ProgramFile::open(redis_program);
    ASSERT_TRUE(redis);
    EXPECT_EQ(redis->go_refusal(), "");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

TEST(GoVersions, ThatAreNotKnownAreRefused) {
    const TemporaryFolder folder;
    const std::string content = content_of(program);
    const auto at = content.find("\xff Go buildinf:");
    ASSERT_NE(at, std::string::npos);
    const std::string version =
        content.substr(at + 33, static_cast<unsigned char>(content[at + 32]));
    ASSERT_TRUE(version.starts_with("go1.")) << version;
    for (const std::string other : {"go1.16", "go1.27", "go2.01", "nothin"}) {
        write(folder.path() / "other", replaced(content, version, other + version.substr(6)));
        const auto file = ProgramFile::open(folder.path() / "other");
        ASSERT_TRUE(file) << other;
        EXPECT_EQ(file->go_refusal(), "was built with " + other + version.substr(6) +
                                          "; only Go 1.17 to 1.26 is supported");
        const auto functions = file->find_functions("main.grow");
        ASSERT_TRUE(functions && functions->size() == 1);
        const auto exits = function_exits(*file, functions->front());
        ASSERT_FALSE(exits) << other;
        EXPECT_THAT(exits.error().message, HasSubstr("supported"));
    }
}

TEST(GoVersions, TellWhereGoroutinesHaveTheirNumberAndFrame) {
    const TemporaryFolder folder;
    const std::string content = content_of(program);
    const auto at = content.find("\xff Go buildinf:");
    ASSERT_NE(at, std::string::npos);
    const std::string version =
        content.substr(at + 33, static_cast<unsigned char>(content[at + 32]));
    struct Known {
        std::string version;
        std::uint32_t goid_offset, frame_offset;
    };
    for (const Known& known :
         {Known{"go1.17", 152, 104}, Known{"go1.22", 152, 104}, Known{"go1.23", 160, 104},
          Known{"go1.24", 160, 104}, Known{"go1.25", 152, 96}, Known{"go1.26", 152, 96}}) {
        write(folder.path() / "other",
              replaced(content, version, known.version + version.substr(6)));
        const auto file = ProgramFile::open(folder.path() / "other");
        ASSERT_TRUE(file) << known.version;
        EXPECT_EQ(file->go().refusal, "") << known.version;
        EXPECT_EQ(file->go().goid_offset, known.goid_offset) << known.version;
        EXPECT_EQ(file->go().frame_offset, known.frame_offset) << known.version;
        EXPECT_EQ(file->go().version, known.version + version.substr(6));
    }
    const auto c = ProgramFile::open(redis_program);
    ASSERT_TRUE(c);
    EXPECT_FALSE(c->go().is_go);
}

// Whatever the table contains, nothing outside it is read.
TEST(GoTables, ThatAreDamagedAreErrors) {
    const TemporaryFolder folder;
    const std::string content = content_of(stripped_program);
    const auto table = content.find(std::string("\xff\xff\xff\x00\x00\x01\x08", 7));
    ASSERT_NE(table, std::string::npos);
    std::mt19937 random(7);
    for (int round = 0; round < 60; ++round) {
        std::string damaged = content;
        // The header, or what follows it.
        const std::size_t from = table + 3,
                          range = round % 2 == 0 ? 69 : content.size() - table - 3;
        for (int i = 0; i < 4; ++i) damaged[from + random() % range] = static_cast<char>(random());
        write(folder.path() / "damaged", damaged);
        const auto file = ProgramFile::open(folder.path() / "damaged");
        if (!file) continue;
        const auto functions = file->functions();
        if (!functions) continue;
        for (std::size_t i = 0; i < functions->size(); i += 97)
            (void)function_exits(*file, (*functions)[i]);
    }
}

}  // namespace
}  // namespace lagtrap::binaries::test::go_program_test
