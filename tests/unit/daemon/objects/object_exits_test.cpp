#include "daemon/objects/object_exits.hpp"

#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::object_exits_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

#if defined(__x86_64__)
class ObjectExits : public testing::Test {
  protected:
    ObjectExits() {
        process_.programs["/opt/own.so"] = MadeUpProcess::own_allocator();
        read();
    }
    void read() {
        code_.emplace(process_, given_up_);
        code_->begin_anew();
        EXPECT_TRUE(code_->read(MadeUpProcess::pid));
    }
    [[nodiscard]] std::uint64_t offset_of(const std::string& name) {
        const auto found = (*code_->program(0))->find_functions(name);
        EXPECT_TRUE(found && !found->empty()) << name;
        return found && !found->empty() ? found->front().file_offset : 0;
    }
    // Where the function ends; empty if that is not known.
    std::vector<binaries::FunctionExit> exits_of(const std::string& name, bool all = true) {
        const auto calls = code_->calls_of(0, {offset_of(name)});
        EXPECT_TRUE(calls) << calls.error().message;
        std::vector<binaries::FunctionExit> exits{{.file_offset = 1}};
        if (follow_exits(*code_, 0, calls->front(), all, exits)) return exits;
        EXPECT_EQ(exits.size(), 1U) << "unchanged";
        return {};
    }
    std::vector<std::uint64_t> offsets_of(const std::string& name, bool all = true) {
        std::vector<std::uint64_t> offsets;
        for (const binaries::FunctionExit& exit : exits_of(name, all))
            offsets.push_back(exit.file_offset);
        return offsets;
    }

    MadeUpProcess process_{{"/opt/own.so"}};
    std::atomic<bool> given_up_{false};
    std::optional<ProcessFiles> code_;
    static constexpr std::uint64_t before_return = 3;  // bytes of mov
};

TEST_F(ObjectExits, AFunctionThatReturnsEndsThere) {
    const auto exits = exits_of("returns_plainly");
    ASSERT_EQ(exits.size(), 1U);
    EXPECT_EQ(exits[0].file_offset, offset_of("returns_plainly") + before_return);
    EXPECT_FALSE(exits[0].of_others_too);
}

TEST_F(ObjectExits, AJumpEndsWhereItsTargetEnds) {
    for (const char* const name : {"jumps_to_return", "jumps_twice"}) {
        const auto exits = exits_of(name);
        ASSERT_EQ(exits.size(), 1U) << name;
        EXPECT_EQ(exits[0].file_offset, offset_of("returns_plainly") + before_return);
        EXPECT_TRUE(exits[0].of_others_too);
    }
}

TEST_F(ObjectExits, AConditionalJumpAddsAnExit) {
    const std::uint64_t shared = offset_of("returns_plainly") + before_return;
    // test, je, mov: the second je is a long one
    EXPECT_THAT(offsets_of("jumps_if_zero"),
                ElementsAre(shared, offset_of("jumps_if_zero") + 3 + 2 + 3));
    EXPECT_THAT(offsets_of("jumps_far_if_zero"),
                ElementsAre(shared, offset_of("jumps_far_if_zero") + 3 + 6 + 3));
    const auto exits = exits_of("jumps_if_zero");
    ASSERT_EQ(exits.size(), 2U);
    EXPECT_TRUE(exits[0].of_others_too);
    EXPECT_FALSE(exits[1].of_others_too);
}

TEST_F(ObjectExits, AJumpThroughTheTableIsFollowedWithinItsFileAlone) {
    EXPECT_THAT(offsets_of("jumps_by_table"),
                ElementsAre(offset_of("returns_plainly") + before_return));
    EXPECT_THAT(offsets_of("jumps_to_others"), IsEmpty());
    process_.paths.push_back("/opt/other.so");
    process_.programs["/opt/other.so"] = MadeUpProcess::own_allocator();
    read();
    EXPECT_THAT(offsets_of("jumps_by_table"), IsEmpty()) << "the other one may override it";
}

TEST_F(ObjectExits, AJumpThroughAPointerIsNotFollowed) {
    EXPECT_THAT(offsets_of("jumps_by_pointer", true), IsEmpty());
    EXPECT_THAT(offsets_of("jumps_by_pointer", false), IsEmpty());
    EXPECT_THAT(offsets_of("jumps_by_register", true), IsEmpty());
    EXPECT_THAT(offsets_of("jumps_by_register", false), IsEmpty()) << "no exit is left";
    EXPECT_THAT(offsets_of("allocate", true), IsEmpty());
    EXPECT_EQ(offsets_of("allocate", false).size(), 1U);
}

TEST_F(ObjectExits, JumpsInACircleHaveNoEnd) { EXPECT_THAT(offsets_of("jumps_around"), IsEmpty()); }

TEST_F(ObjectExits, TheSlotIsThatOfTheJump) {
    const binaries::ProgramFile& program = **code_->program(0);
    const auto by_pointer = jump_slot(program, offset_of("jumps_by_pointer") + 3);
    const auto of_allocator = jump_slot(program, offset_of("_Znam") + 3);
    ASSERT_TRUE(by_pointer);
    EXPECT_EQ(by_pointer, of_allocator) << "both jump through the same pointer";
    const auto by_table = jump_slot(program, offset_of("jumps_by_table") + 3);
    ASSERT_TRUE(by_table);
    EXPECT_NE(by_table, by_pointer);
    EXPECT_FALSE(jump_slot(program, offset_of("returns_plainly")));
    EXPECT_FALSE(jump_slot(program, offset_of("jumps_to_return") + 3));
    EXPECT_FALSE(jump_slot(program, 1ULL << 40));
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::object_exits_test
