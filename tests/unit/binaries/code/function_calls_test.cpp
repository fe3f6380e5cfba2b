// Finds the calls in a function's code, for each compiler.
#include "binaries/code/function_calls.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/reader/file_reader.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::function_calls_test {
namespace {

using ::testing::UnorderedElementsAre;

class FunctionCallsTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        auto opened =
            ProgramFile::open(build_folder() + "/binaries/calls/calls_" + GetParam() + ".so");
        ASSERT_TRUE(opened) << opened.error().message;
        file_.emplace(std::move(*opened));
    }
    std::uint64_t offset_of(const std::string& name) {
        const auto found = file_->find_functions(name);
        return found && found->size() == 1 ? found->front().file_offset : 0;
    }
    FunctionCalls calls_of(const std::string& name) {
        const auto found = function_calls(*file_, {offset_of(name)});
        EXPECT_TRUE(found) << found.error().message;
        if (!found) return {};
        EXPECT_EQ(found->size(), 1U);
        EXPECT_EQ(found->front().symbol, name);
        return found->front();
    }
    std::set<std::string> callees_of(const std::string& name) {
        std::set<std::string> names;
        const FunctionCalls calls = calls_of(name);
        const auto found = function_calls(*file_, calls.callees);
        EXPECT_TRUE(found);
        if (found)
            for (const FunctionCalls& one : *found) names.insert(one.symbol);
        return names;
    }
    static std::set<std::string> slots_of(const FunctionCalls& calls) {
        std::set<std::string> names;
        for (const CodeSlot& slot : calls.slots)
            names.insert(slot.symbol.substr(0, slot.symbol.find('@')));
        return names;
    }

    std::optional<ProgramFile> file_;
};

TEST_P(FunctionCallsTest, DirectCallsLeadToFunctions) {
    EXPECT_THAT(callees_of("calls_direct"), UnorderedElementsAre("calls_leaf", "calls_other"));
}

TEST_P(FunctionCallsTest, TailJumpsAreCalls) {
    EXPECT_THAT(callees_of("calls_tail"), UnorderedElementsAre("calls_leaf", "calls_other"));
}

TEST_P(FunctionCallsTest, ConditionalJumpsToFunctionsAreCalls) {
    EXPECT_THAT(callees_of("calls_conditional"), UnorderedElementsAre("calls_leaf"));
}

TEST_P(FunctionCallsTest, OtherFilesAreCalledThroughSlots) {
    const FunctionCalls calls = calls_of("calls_through_slot");
    EXPECT_THAT(slots_of(calls), UnorderedElementsAre("malloc", "free", "calls_elsewhere"));
    EXPECT_TRUE(calls.callees.empty()) << "the jumps through them are no functions";
    for (const CodeSlot& slot : calls.slots) EXPECT_NE(slot.address, 0U);
}

TEST_P(FunctionCallsTest, CallsThroughPointersAreTold) {
    const FunctionCalls calls = calls_of("calls_indirect");
    EXPECT_EQ(calls.indirect.size(), 2U);
    for (const IndirectCall& call : calls.indirect)
        EXPECT_TRUE(call.target.in_memory || call.target.base != no_jump_register);
    EXPECT_THAT(callees_of("calls_indirect"), UnorderedElementsAre("calls_leaf"));
}

TEST_P(FunctionCallsTest, EndsAreWatchedByReturnProbesInC) {
    const FunctionCalls calls = calls_of("calls_nothing");
    EXPECT_TRUE(calls.callees.empty());
    EXPECT_TRUE(calls.slots.empty());
    EXPECT_EQ(calls.problem, "");
    EXPECT_TRUE(calls.return_probe);
    EXPECT_FALSE(calls.first_code.empty());
}

TEST_P(FunctionCallsTest, ReaderSaysTheSame) {
    const std::vector<std::uint64_t> offsets = {
        offset_of("calls_direct"), offset_of("calls_through_slot"), offset_of("calls_indirect")};
    const auto here = function_calls(*file_, offsets);
    ASSERT_TRUE(here);
    FileReader reader({.program = build_folder() + "/binaries/lagtrap-reader"});
    read_files_by(&reader);
    auto there = ProgramFile::open(build_folder() + "/binaries/calls/calls_" + GetParam() + ".so");
    const auto calls = there ? function_calls(*there, offsets) : there.error();
    read_files_by(nullptr);
    ASSERT_TRUE(calls) << calls.error().message;
    ASSERT_EQ(calls->size(), here->size());
    for (std::size_t i = 0; i < here->size(); ++i) {
        EXPECT_EQ((*calls)[i].symbol, (*here)[i].symbol);
        EXPECT_EQ((*calls)[i].callees, (*here)[i].callees);
        EXPECT_EQ((*calls)[i].return_probe, (*here)[i].return_probe);
        ASSERT_EQ((*calls)[i].slots.size(), (*here)[i].slots.size());
        for (std::size_t n = 0; n < (*here)[i].slots.size(); ++n) {
            EXPECT_EQ((*calls)[i].slots[n].address, (*here)[i].slots[n].address);
            EXPECT_EQ((*calls)[i].slots[n].symbol, (*here)[i].slots[n].symbol);
        }
        ASSERT_EQ((*calls)[i].indirect.size(), (*here)[i].indirect.size());
        for (std::size_t n = 0; n < (*here)[i].indirect.size(); ++n)
            EXPECT_EQ((*calls)[i].indirect[n].file_offset, (*here)[i].indirect[n].file_offset);
    }
}

INSTANTIATE_TEST_SUITE_P(Compilers, FunctionCallsTest,
                         ::testing::Values("gcc_O0", "gcc_O2", "gcc_O2_no_plt", "gcc_O2_cet",
                                           "clang_O0", "clang_O2"),
                         [](const auto& compiler) { return std::string(compiler.param); });

TEST(FunctionCallsOfLibraryTest, CppEndsAreWatchedAtInstructions) {
    const auto file = ProgramFile::open(build_folder() + "/binaries/exits/exits_gcc_O2.so");
    ASSERT_TRUE(file) << file.error().message;
    const auto functions = file->find_functions("exits_early");
    ASSERT_TRUE(functions && functions->size() == 1);
    const auto calls = function_calls(*file, {functions->front().file_offset});
    ASSERT_TRUE(calls);
    EXPECT_FALSE(calls->front().return_probe);
    EXPECT_FALSE(calls->front().exits.empty());
}

TEST(FunctionCallsOfLibraryTest, TooManyAreRefused) {
    const auto file = ProgramFile::open(build_folder() + "/binaries/exits/exits_gcc_O2.so");
    ASSERT_TRUE(file);
    const auto calls = function_calls(*file, std::vector<std::uint64_t>(max_call_queries + 1));
    ASSERT_FALSE(calls);
    EXPECT_EQ(calls.error().kind, ErrorKind::TooLarge);
}

}  // namespace
}  // namespace lagtrap::binaries::function_calls_test
