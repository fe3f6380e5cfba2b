// The places where functions are left, against what objdump shows of the same files.
#include "binaries/return_sites.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test {
namespace {

using ::testing::HasSubstr;

const std::filesystem::path kExitsFolder = LAGTRAP_EXITS_FOLDER;

using Listing = std::map<std::uint64_t, std::string>;  // address: instruction

Listing listing_of(const std::filesystem::path& path) {
    std::istringstream lines(output_of("objdump -d -j .text -w --no-show-raw-insn " + path.string()));
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

// "f" and "f.cold", as nm has them.
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

// Addresses of returns, of direct jumps that lead out of the ranges, and of jumps by a pointer of the global offset
// table (the functions that are asked for have no other pointers).
std::set<std::uint64_t> exits_by_objdump(const Listing& listing, const std::vector<Range>& ranges) {
    static const std::regex kReturn("((bnd|repz|repnz|rep) )?ret.*");
    static const std::regex kJump("(bnd )?jmp +([0-9a-f]+).*");
    static const std::regex kSlotJump("jmp +\\*0x[0-9a-f]+\\(%rip\\).*");
    std::set<std::uint64_t> exits;
    for (const auto& range : ranges) {
        for (auto at = listing.lower_bound(range.begin); at != listing.end() && at->first < range.end; ++at) {
            std::smatch match;
            const bool jumps = std::regex_match(at->second, match, kJump);
            const std::uint64_t target = jumps ? std::stoull(match[2], nullptr, 16) : 0;
            const bool leaves = jumps && std::none_of(ranges.begin(), ranges.end(), [&](const Range& other) {
                                    return target >= other.begin && target < other.end;
                                });
            const bool others = std::regex_match(at->second, kReturn) || std::regex_match(at->second, kSlotJump);
            if (leaves || others) exits.insert(at->first);
        }
    }
    return exits;
}

class ReturnSites : public ::testing::TestWithParam<std::string> {
  protected:
    ReturnSites() : path_(kExitsFolder / ("exits_" + GetParam() + ".so")), file_(ProgramFile::open(path_)) {}

    Function function(const std::string& name) {
        EXPECT_TRUE(file_) << file_.error().message;
        const auto found = file_->find_functions(name);
        EXPECT_TRUE(found && found->size() == 1) << name;
        return found && found->size() == 1 ? found->front() : Function{};
    }

    std::set<std::uint64_t> addresses(const std::vector<std::uint64_t>& file_offsets) {
        std::set<std::uint64_t> found;
        for (const std::uint64_t offset : file_offsets) found.insert(file_->address_of(offset).value_or(0));
        return found;
    }

    void expect_refusal(const std::string& name, ErrorKind kind, const std::string& why) {
        const auto sites = return_sites(*file_, function(name));
        ASSERT_FALSE(sites) << name;
        EXPECT_EQ(sites.error().kind, kind) << name;
        EXPECT_THAT(sites.error().message, HasSubstr("exits_" + GetParam() + ".so: function " + name + ": "));
        EXPECT_THAT(sites.error().message, HasSubstr(why));
    }

    std::filesystem::path path_;
    Result<ProgramFile> file_;
};

TEST_P(ReturnSites, AreThoseThatObjdumpShows) {
    const Listing listing = listing_of(path_);
    for (const std::string name :
         {"exits_plain", "exits_early", "exits_switch", "exits_tail", "exits_cold", "exits_prefixes"}) {
        const auto sites = return_sites(*file_, function(name));
        ASSERT_TRUE(sites) << sites.error().message;
        EXPECT_FALSE(sites->empty()) << name;
        EXPECT_EQ(addresses(*sites), exits_by_objdump(listing, ranges_of(path_, name))) << name << " of " << path_;
    }
}

TEST_P(ReturnSites, TakeASwitchForNoWayOut) {
    const auto exits = function_exits(*file_, function("exits_switch"));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_EQ(exits->unclear_jumps, 0U);
}

TEST_P(ReturnSites, HaveATailCallWhereTheCompilerMadeOne) {
    const auto sites = return_sites(*file_, function("exits_tail"));
    ASSERT_TRUE(sites) << sites.error().message;
    ASSERT_EQ(sites->size(), 1U);
    const Listing listing = listing_of(path_);
    const std::string instruction = listing.at(*file_->address_of(sites->front()));
    const bool optimised = GetParam().find("O2") != std::string::npos;
    EXPECT_THAT(instruction, HasSubstr(optimised ? "jmp" : "ret"));
}

TEST_P(ReturnSites, CountTheJumpsThatMayLeave) {
    const auto exits = function_exits(*file_, function("exits_pointer_tail"));
    ASSERT_TRUE(exits) << exits.error().message;
    EXPECT_FALSE(exits->file_offsets.empty());
    const bool optimised = GetParam().find("O2") != std::string::npos;
    EXPECT_EQ(exits->unclear_jumps, optimised ? 1U : 0U);
}

TEST_P(ReturnSites, RefuseWhatTheyCannotTell) {
    expect_refusal("exits_conditional", ErrorKind::Unsupported, "has a conditional jump at");
    expect_refusal("exits_again", ErrorKind::Unsupported, "to its own first instruction");
    expect_refusal("exits_at_once", ErrorKind::Unsupported, "is left by its first instruction");
    expect_refusal("exits_never", ErrorKind::Unsupported, "it never returns");
    expect_refusal("exits_sizeless", ErrorKind::Unsupported, "does not say how large it is");
    expect_refusal("exits_no_code", ErrorKind::Unsupported, "are no instruction");
    expect_refusal("exits_cut", ErrorKind::Unsupported, "are no instruction");
    expect_refusal("exits_many", ErrorKind::TooLarge, "more than 4096 instructions");
    expect_refusal("exits_large", ErrorKind::TooLarge, "1048578 bytes of code");
}

TEST_P(ReturnSites, RefuseAFunctionBeyondTheFile) {
    Function outside = function("exits_plain");
    outside.address = 0x7000'0000'0000;
    const auto sites = return_sites(*file_, outside);
    ASSERT_FALSE(sites);
    EXPECT_THAT(sites.error().message, HasSubstr("lies outside the file's code"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, ReturnSites,
                         ::testing::Values("gcc_O0", "gcc_O2", "gcc_O2_no_plt", "gcc_O2_cet", "clang_O0", "clang_O2"),
                         [](const auto& chosen) { return chosen.param; });

// The cold part of an optimised function belongs to it; without it the test would prove nothing.
TEST(ColdParts, ExistWhereTheyAreTested) {
    const auto ranges = ranges_of(kExitsFolder / "exits_gcc_O2.so", "exits_cold");
    EXPECT_EQ(ranges.size(), 2U);
}

TEST(ExceptionsMayPass, SaysSoOfCpp) {
    const auto cpp = ProgramFile::open(kExitsFolder / "exits_gcc_O2.so");
    ASSERT_TRUE(cpp);
    EXPECT_TRUE(cpp->exceptions_may_pass());
}

TEST(ExceptionsMayPass, DoesNotSaySoOfC) {
    for (const auto& path : {kPostgres, kRedis}) {
        const auto c = ProgramFile::open(path);
        ASSERT_TRUE(c);
        EXPECT_FALSE(c->exceptions_may_pass()) << path;
    }
}

TEST(ExceptionsMayPass, AssumesItWhereSectionsAreGone) {
    const TemporaryFolder folder;
    const auto path = folder.path() / "sectionless";
    std::string bytes = content_of(kRedis);
    // e_shoff of the header, and e_shnum with e_shstrndx.
    std::fill_n(bytes.begin() + 40, 8, '\0');
    std::fill_n(bytes.begin() + 60, 4, '\0');
    write(path, bytes);
    const auto file = ProgramFile::open(path);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(file->exceptions_may_pass());
}

}  // namespace
}  // namespace lagtrap::binaries::test
