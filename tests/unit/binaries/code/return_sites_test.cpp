// The exits of functions, compared with objdump.
#include "binaries/code/return_sites.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/support.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::test::return_sites_test {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path exits_folder = build_folder() + "/binaries/exits";

using Listing = std::map<std::uint64_t, std::string>;  // address: instruction

Listing listing_of(const std::filesystem::path& path) {
    std::istringstream lines(
        output_of("objdump -d -j .text -w --no-show-raw-insn " + path.string()));
    Listing listing;
    for (std::string line; std::getline(lines, line);) {
        const auto colon = line.find(":\t");
        if (colon != std::string::npos && line[0] == ' ')
            listing[std::stoull(line.substr(0, colon), nullptr, 16)] = line.substr(colon + 2);
    }
    return listing;
}

struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

// The ranges of "f" and "f.cold" according to nm.
std::vector<Range> ranges_of(const std::filesystem::path& path, const std::string& name) {
    std::istringstream lines(output_of("nm -S " + path.string()));
    std::vector<Range> ranges;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string address, size, type, symbol;
        words >> address >> size >> type >> symbol;
        if (symbol != name && symbol != name + ".cold") continue;
        const std::uint64_t begin = std::stoull(address, nullptr, 16);
        ranges.push_back({begin, begin + std::stoull(size, nullptr, 16)});
    }
    return ranges;
}

// Addresses of returns, of direct jumps out of the ranges, and of jumps through a pointer in the
// global offset table (the functions under test have no other pointers).
std::set<std::uint64_t> exits_by_objdump(const Listing& listing, const std::vector<Range>& ranges) {
    static const std::regex return_text("((bnd|repz|repnz|rep) )?ret.*");
    static const std::regex jump_code("(bnd )?jmp +([0-9a-f]+).*");
    static const std::regex slot_jump("jmp +\\*0x[0-9a-f]+\\(%rip\\).*");
    std::set<std::uint64_t> exits;
    for (const auto& range : ranges) {
        for (auto at = listing.lower_bound(range.begin);
             at != listing.end() && at->first < range.end; ++at) {
            std::smatch match;
            const bool jumps = std::regex_match(at->second, match, jump_code);
            const std::uint64_t target = jumps ? std::stoull(match[2], nullptr, 16) : 0;
            const auto led_to = listing.find(target);
            // After a call that never returns, clang 14 jumps past the function's end, into
            // padding.
            const bool nowhere =
                target == range.end && led_to != listing.end() && led_to->second.starts_with("nop");
            const bool leaves = jumps && !nowhere &&
                                std::none_of(ranges.begin(), ranges.end(), [&](const Range& other) {
                                    return target >= other.begin && target < other.end;
                                });
            const bool others = std::regex_match(at->second, return_text) ||
                                std::regex_match(at->second, slot_jump);
            if (leaves || others) exits.insert(at->first);
        }
    }
    return exits;
}

class ReturnSites : public ::testing::TestWithParam<std::string> {
  protected:
    ReturnSites()
        : path_(exits_folder / ("exits_" + GetParam() + ".so")), file_(ProgramFile::open(path_)) {}

    Function function(const std::string& name) {
        EXPECT_TRUE(file_) << file_.error().message;
        const auto found = file_->find_functions(name);
        EXPECT_TRUE(found && found->size() == 1) << name;
        return found && found->size() == 1 ? found->front() : Function{};
    }

    std::set<std::uint64_t> addresses(const FunctionExits& exits) {
        std::set<std::uint64_t> found;
        for (const FunctionExit& exit : exits.exits)
            found.insert(file_->address_of(exit.file_offset).value_or(0));
        return found;
    }

    void expect_refusal(const std::string& name, ErrorKind kind, const std::string& why) {
        const auto sites = function_exits(*file_, function(name));
        ASSERT_FALSE(sites) << name;
        EXPECT_EQ(sites.error().kind, kind) << name;
        EXPECT_THAT(sites.error().message,
                    HasSubstr("exits_" + GetParam() + ".so: function " + name + ": "));
        EXPECT_THAT(sites.error().message, HasSubstr(why));
    }

    std::filesystem::path path_;
    Result<ProgramFile> file_;
};

TEST_P(ReturnSites, AreThoseThatObjdumpShows) {
    const Listing listing = listing_of(path_);
    for (const std::string name : {"exits_plain", "exits_early", "exits_switch", "exits_tail",
                                   "exits_cold", "exits_prefixes"}) {
        const auto sites = function_exits(*file_, function(name));
        ASSERT_TRUE(sites) << sites.error().message;
        EXPECT_TRUE(sites->always()) << name;
        EXPECT_EQ(addresses(*sites), exits_by_objdump(listing, ranges_of(path_, name)))
            << name << " of " << path_;
    }
}

TEST_P(ReturnSites, TakeASwitchForNoWayOut) {
    const auto exits = function_exits(*file_, function("exits_switch"));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_TRUE(exits->always());
}

TEST_P(ReturnSites, HaveATailCallWhereTheCompilerMadeOne) {
    const auto sites = function_exits(*file_, function("exits_tail"));
    ASSERT_TRUE(sites) << sites.error().message;
    ASSERT_EQ(sites->exits.size(), 1U);
    const Listing listing = listing_of(path_);
    const std::string instruction =
        listing.at(*file_->address_of(sites->exits.front().file_offset));
    const bool optimised = GetParam().find("O2") != std::string::npos;
    EXPECT_THAT(instruction, HasSubstr(optimised ? "jmp" : "ret"));
}

// A call through a pointer in the function, after its frame is gone: the target decides whether it
// is an exit.
TEST_P(ReturnSites, HaveIndirectTailCallsByTheirTarget) {
    const auto exits = function_exits(*file_, function("exits_pointer_tail"));
    ASSERT_TRUE(exits) << exits.error().message;
    const auto by_target = std::count_if(exits->exits.begin(), exits->exits.end(),
                                         [](const auto& exit) { return exit.by_target; });
    const bool optimised = GetParam().find("O2") != std::string::npos;
    EXPECT_EQ(by_target, optimised ? 1 : 0);
    EXPECT_GT(exits->exits.size(), static_cast<std::size_t>(by_target));
}

TEST_P(ReturnSites, HaveConditionalTailCallsByTheirCondition) {
    constexpr auto zero = static_cast<JumpCondition>(1 + 4),
                   not_zero = static_cast<JumpCondition>(1 + 5);
    for (const auto& [name, condition] :
         {std::pair("exits_conditional", zero), std::pair("exits_again", not_zero)}) {
        const auto exits = function_exits(*file_, function(name));
        ASSERT_TRUE(exits) << exits.error().message;
        ASSERT_EQ(exits->exits.size(), 2U) << name;
        EXPECT_EQ(exits->exits[0].condition, condition) << name;
        EXPECT_FALSE(exits->exits[0].by_target) << name;
        EXPECT_EQ(exits->exits[1].condition, JumpCondition::Always) << name;
    }
}

TEST_P(ReturnSites, OfAMereJumpAreThoseOfTheOtherFunction) {
    const auto other = function_exits(*file_, function("exits_prefixes"));
    const auto jump = function_exits(*file_, function("exits_jump"));
    ASSERT_TRUE(other && jump) << (jump ? other : jump).error().message;
    EXPECT_EQ(addresses(*jump), addresses(*other));
    for (const FunctionExit& exit : jump->exits) EXPECT_TRUE(exit.of_others_too);
}

TEST_P(ReturnSites, LeaveOutDataBehindTheCode) {
    const auto exits = function_exits(*file_, function("exits_data"));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_EQ(exits->exits.size(), 1U);
}

TEST_P(ReturnSites, RefuseWhatTheyCannotTell) {
    expect_refusal("exits_loop", ErrorKind::Unsupported, "with a loop instruction");
    expect_refusal("exits_at_once", ErrorKind::NotFound, "only returns");
    expect_refusal("exits_never", ErrorKind::NotFound, "it never returns");
    expect_refusal("exits_sizeless", ErrorKind::Unsupported, "has no known size");
    expect_refusal("exits_no_code", ErrorKind::Unsupported, "are not an instruction");
    expect_refusal("exits_cut", ErrorKind::Unsupported, "are not an instruction");
    expect_refusal("exits_many", ErrorKind::TooLarge, "more than 4096 exits");
    expect_refusal("exits_large", ErrorKind::TooLarge, "bytes of code");
}

// Without the addresses.
TEST_P(ReturnSites, SayWhyAndWhatToWatchInstead) {
    const auto problem = [&](const std::string& name) {
        const Function wanted = function(name);
        const auto exits = function_exits(*file_, wanted);
        if (exits) return std::string();
        return std::regex_replace(exit_problem(exits.error(), wanted), std::regex("0x[0-9a-f]+"),
                                  "0x");
    };
    EXPECT_EQ(problem("exits_plain"), "");
    EXPECT_EQ(problem("exits_never"),
              "has no exit, so it never returns; watch what it calls, or use <begin> and <end>");
    EXPECT_EQ(problem("exits_at_once"), "only returns, so no time passes in it; watch its caller");
    EXPECT_EQ(problem("exits_slot"),
              "only jumps to another function; watch that function, or its caller");
    EXPECT_EQ(problem("exits_loop"),
              "exits at 0x with a loop instruction, which cannot be probed; watch its caller");
    EXPECT_EQ(problem("exits_far"),
              "has a far return at 0x, which cannot be probed; watch its caller");
    EXPECT_EQ(problem("exits_frame"),
              "jumps at 0x to exits_prefixes with its frame still on the stack, so its end is "
              "unknown; watch its caller");
    EXPECT_EQ(problem("exits_many"), "has more than 4096 exits");
}

TEST_P(ReturnSites, RefuseAFunctionBeyondTheFile) {
    Function outside = function("exits_plain");
    outside.address = 0x7000'0000'0000;
    const auto sites = function_exits(*file_, outside);
    ASSERT_FALSE(sites);
    EXPECT_THAT(sites.error().message, HasSubstr("is outside the file's code"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, ReturnSites,
                         ::testing::Values("gcc_O0", "gcc_O2", "gcc_O2_no_plt", "gcc_O2_cet",
                                           "clang_O0", "clang_O2"),
                         [](const auto& chosen) { return chosen.param; });

// The cold part of an optimised function belongs to it; without one this test would prove nothing.
TEST(ColdParts, ExistWhereTheyAreTested) {
    const auto ranges = ranges_of(exits_folder / "exits_gcc_O2.so", "exits_cold");
    EXPECT_EQ(ranges.size(), 2U);
}

// Without the names of its parts the function has the same exits, because unwind information has
// them.
TEST(ColdParts, AreToldWithoutTheirNames) {
    const TemporaryFolder folder;
    const std::string whole = (exits_folder / "exits_gcc_O2.so").string(),
                      stripped = (folder.path() / "exits.so").string();
    output_of("objcopy --strip-all " + whole + " " + stripped);
    std::vector<std::set<std::uint64_t>> found;
    for (const std::string& path : {whole, stripped}) {
        const auto file = ProgramFile::open(path);
        ASSERT_TRUE(file);
        const auto functions = file->find_functions("exits_cold");
        ASSERT_TRUE(functions && functions->size() == 1);
        const auto exits = function_exits(*file, functions->front());
        ASSERT_TRUE(exits) << exits.error().message;
        std::set<std::uint64_t> offsets;
        for (const FunctionExit& exit : exits->exits) offsets.insert(exit.file_offset);
        found.push_back(offsets);
    }
    EXPECT_EQ(found[0], found[1]);
}

TEST(ColdParts, AreNoFunctionsByTheirOwnersName) {
    const auto file = ProgramFile::open(exits_folder / "exits_gcc_O2.so");
    ASSERT_TRUE(file);
    const auto part = file->find_functions("exits_cold.cold");
    ASSERT_TRUE(part && part->size() == 1);
    const auto exits = function_exits(*file, part->front());
    ASSERT_FALSE(exits);
    EXPECT_THAT(exits.error().message, HasSubstr("is a part of another function"));
}

// A stripped program in which nothing names the functions' parts.
TEST(ColdParts, OfRealFunctionsAreFollowed) {
    const auto file = ProgramFile::open(postgres);
    ASSERT_TRUE(file);
    for (const std::string name :
         {"LockAcquireExtended", "exec_simple_query", "heap_insert", "ExecutorRun"}) {
        const auto functions = file->find_functions(name);
        ASSERT_TRUE(functions) << name;
        for (const Function& function : *functions) {
            const auto exits = function_exits(*file, function);
            EXPECT_TRUE(exits) << exits.error().message;
        }
    }
}

TEST(ExceptionsMayPass, SaysSoOfCpp) {
    const auto cpp = ProgramFile::open(exits_folder / "exits_gcc_O2.so");
    ASSERT_TRUE(cpp);
    EXPECT_TRUE(cpp->exceptions_may_pass());
}

TEST(ExceptionsMayPass, DoesNotSaySoOfC) {
    for (const auto& path : {postgres, redis_program}) {
        const auto c = ProgramFile::open(path);
        ASSERT_TRUE(c);
        EXPECT_FALSE(c->exceptions_may_pass()) << path;
    }
}

TEST(ExceptionsMayPass, AssumesItWhereSectionsAreGone) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "sectionless";
    std::string bytes = content_of(redis_program);
    // The header's e_shoff, and e_shnum with e_shstrndx.
    std::fill_n(bytes.begin() + 40, 8, '\0');
    std::fill_n(bytes.begin() + 60, 4, '\0');
    write(path, bytes);
    const auto file = ProgramFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->exceptions_may_pass());
}

}  // namespace
}  // namespace lagtrap::binaries::test::return_sites_test
