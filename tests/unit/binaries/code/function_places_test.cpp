// Where functions are probed, in libraries of C and of C++.
#include "binaries/code/function_places.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/unit/binaries/support.hpp"

namespace lagtrap::binaries::test::function_places_test {
namespace {

const std::string c_library = build_folder() + "/binaries/calls/calls_gcc_O2.so";
const std::string cpp_library = build_folder() + "/binaries/exits/exits_gcc_O2.so";

std::vector<std::uint64_t> offsets_of(const std::vector<FunctionExit>& places) {
    std::vector<std::uint64_t> offsets;
    for (const FunctionExit& place : places) offsets.push_back(place.file_offset);
    return offsets;
}

// The answer for one query; has no places after an error.
FunctionPlaces places_of(const std::string& library, const std::string& name, bool at_return) {
    const auto file = ProgramFile::open(library);
    EXPECT_TRUE(file);
    if (!file) return {};
    auto answers = function_places(*file, {{name, at_return}});
    EXPECT_TRUE(answers && answers->size() == 1 && answers->front()) << name;
    return answers && answers->front() ? *answers->front() : FunctionPlaces{};
}

Function function_of(const std::string& library, const std::string& name) {
    return ProgramFile::open(library)->find_functions(name).value().at(0);
}

std::string code_at_first(const std::string& library, const FunctionPlaces& found) {
    return ProgramFile::open(library)->code_at(found.places.at(0).file_offset).value();
}

TEST(FunctionPlaces, ABeginIsTheFirstInstruction) {
    for (const auto& [library, name] :
         {std::pair(c_library, "calls_direct"), std::pair(cpp_library, "exits_early")}) {
        const FunctionPlaces found = places_of(library, name, false);
        EXPECT_EQ(offsets_of(found.places),
                  std::vector<std::uint64_t>{function_of(library, name).file_offset});
        EXPECT_FALSE(found.return_probe);
        EXPECT_EQ(found.first_code, code_at_first(library, found));
        EXPECT_EQ(found.first_code.size(), binaries::code_bytes);
        EXPECT_EQ(found.goid_offset, 0U);
        EXPECT_EQ(found.frame_offset, 0U);
        EXPECT_FALSE(found.arguments_on_stack);
    }
}

TEST(FunctionPlaces, AnEndIsAReturnProbeWhereNoExceptionPasses) {
    const FunctionPlaces found = places_of(c_library, "calls_direct", true);
    EXPECT_TRUE(found.return_probe);
    EXPECT_EQ(offsets_of(found.places),
              std::vector<std::uint64_t>{function_of(c_library, "calls_direct").file_offset});
}

TEST(FunctionPlaces, AnEndIsEachExitWhereExceptionsMayPass) {
    const FunctionPlaces found = places_of(cpp_library, "exits_early", true);
    EXPECT_FALSE(found.return_probe);
    const auto file = ProgramFile::open(cpp_library);
    const auto exits = function_exits(*file, function_of(cpp_library, "exits_early"));
    ASSERT_TRUE(exits);
    EXPECT_EQ(offsets_of(found.places), offsets_of(exits->exits));
    EXPECT_EQ(found.first_code, code_at_first(cpp_library, found));
    EXPECT_NE(found.first_code.substr(0, 4),
              places_of(cpp_library, "exits_early", false).first_code.substr(0, 4));
}

TEST(FunctionPlaces, AConditionalExitKeepsItsCondition) {
    const FunctionPlaces found = places_of(cpp_library, "exits_conditional", true);
    ASSERT_EQ(found.places.size(), 2U);
    EXPECT_NE(found.places[0].condition, JumpCondition::Always);
    EXPECT_EQ(found.places[1].condition, JumpCondition::Always);
}

TEST(FunctionPlaces, EachFunctionOfANameIsOneInOrder) {
    const std::string store = store_folder / "libstore.so";
    const FunctionPlaces found = places_of(store, "ns::Store::get", false);
    const auto functions = ProgramFile::open(store)->find_functions("ns::Store::get").value();
    ASSERT_EQ(functions.size(), 2U);
    EXPECT_EQ(offsets_of(found.places),
              (std::vector<std::uint64_t>{functions[0].file_offset, functions[1].file_offset}));
}

TEST(FunctionPlaces, AnExitOfTwoFunctionsIsOnePlace) {
    // A jump to another function ends where that one does.
    const FunctionPlaces jump = places_of(cpp_library, "exits_jump", true);
    const FunctionPlaces other = places_of(cpp_library, "exits_prefixes", true);
    EXPECT_EQ(offsets_of(jump.places), offsets_of(other.places));
    EXPECT_TRUE(std::is_sorted(
        other.places.begin(), other.places.end(),
        [](const auto& a, const auto& b) { return a.file_offset <= b.file_offset; }));
}

TEST(FunctionPlaces, EachQueryHasItsOwnAnswer) {
    const auto file = ProgramFile::open(cpp_library);
    const auto answers = function_places(*file, {{"exits_early", false},
                                                 {"missing", false},
                                                 {"exits_never", true},
                                                 {"exits_plain", false}});
    ASSERT_TRUE(answers);
    ASSERT_EQ(answers->size(), 4U);
    ASSERT_TRUE((*answers)[0] && (*answers)[3]);
    EXPECT_EQ((*answers)[0]->places[0].file_offset,
              function_of(cpp_library, "exits_early").file_offset);
    EXPECT_EQ((*answers)[3]->places[0].file_offset,
              function_of(cpp_library, "exits_plain").file_offset);
    ASSERT_FALSE((*answers)[1]);
    EXPECT_EQ((*answers)[1].error().kind, ErrorKind::NotFound);
    EXPECT_EQ((*answers)[1].error().message, "no such function");
    ASSERT_FALSE((*answers)[2]);
    EXPECT_NE((*answers)[2].error().message.find("it never returns"), std::string::npos);
}

}  // namespace
}  // namespace lagtrap::binaries::test::function_places_test
