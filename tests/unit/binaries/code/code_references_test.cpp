#include "binaries/code/code_references.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "binaries/elf/program_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::binaries::code_references_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Of tests/data/binaries/parts.s.
class References : public ::testing::Test {
  protected:
    void SetUp() override {
        auto opened = ProgramFile::open(build_folder() + "/binaries/parts/parts.so");
        ASSERT_TRUE(opened) << opened.error().message;
        file_.emplace(std::move(*opened));
        frames_ = FunctionFrames::read(file_->image());
        references_ = CodeReferences::read(file_->image(), frames_);
    }
    const FrameExtent& extent_of(const std::string& name) {
        static const FrameExtent none;
        const auto found = file_->find_functions("parts_" + name);
        const auto address = found && found->size() == 1
                                 ? file_->address_of(found->front().file_offset)
                                 : std::nullopt;
        const FrameExtent* const extent = address ? frames_.extent_at(*address) : nullptr;
        EXPECT_NE(extent, nullptr) << name;
        return extent == nullptr ? none : *extent;
    }

    std::optional<ProgramFile> file_;
    FunctionFrames frames_;
    CodeReferences references_;
};

TEST_F(References, PartsOfAFunctionJumpIntoItAndDoNotBeginAsFunctions) {
    const FrameExtent& whole = extent_of("whole");
    std::vector<const FrameExtent*> parts = references_.parts_returning_to(whole);
    // Neither what calls into the function nor a function that jumps into it.
    EXPECT_THAT(parts,
                ElementsAre(&extent_of("jumps_back"), &extent_of("jumps_back_on_condition")));
    EXPECT_THAT(references_.parts_returning_to(extent_of("called")), IsEmpty());
}

TEST_F(References, AFunctionIsReferredToByItsCallersAndByData) {
    EXPECT_TRUE(references_.referred_to(extent_of("called"), {}));
    EXPECT_TRUE(references_.referred_to(extent_of("in_a_table"), {}));
    EXPECT_FALSE(references_.referred_to(extent_of("jumps_back"), {}));
}

TEST_F(References, ReferencesFromTheFunctionItselfDoNotCount) {
    EXPECT_FALSE(references_.referred_to(extent_of("called"), {&extent_of("caller")}));
    EXPECT_TRUE(references_.referred_to(extent_of("called"), {&extent_of("whole")}));
}

}  // namespace
}  // namespace lagtrap::binaries::code_references_test
