#include "trace/names/wait_loops.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/unique_fd.hpp"

namespace lagtrap::trace::wait_loops_test {
namespace {

using testing::ElementsAre;

// While (!done); and then a return, as x86-64.
constexpr std::string_view loop("\x8b\x05\x00\x00\x00\x00\x85\xc0\x74\xf6\xc3", 11);
// While (exchange(word, edx)); and then a return.
constexpr std::string_view lock_loop("\x89\xd0\x87\x05\x00\x00\x00\x00\x85\xc0\x75\xf4\xc3", 13);

class WaitLoops : public testing::Test {
  protected:
    // A program with the loop at this file offset.
    static UniqueFd program(std::uint64_t offset, std::string_view code = loop) {
        UniqueFd file(::memfd_create("program", MFD_CLOEXEC));
        EXPECT_EQ(::pwrite(file.get(), code.data(), code.size(), static_cast<off_t>(offset)),
                  static_cast<ssize_t>(code.size()));
        return file;
    }

    FrameId place(std::uint64_t offset) {
        CodeFrame frame;
        frame.module = 3;
        frame.name = stacks_.intern_name("take");
        frame.offset = offset;
        frame.source = stacks_.intern_name("lock.c");
        frame.line = 7;
        stacks_.frames().push_back(frame);
        return static_cast<FrameId>(stacks_.frames().size() - 1);
    }

    // Innermost first.
    std::vector<std::string> functions_at(FrameId place) {
        std::vector<std::string> names;
        for (FrameId id = place; id != no_frame; id = stacks_.frames()[id].inlined_into)
            names.push_back(stacks_.name(stacks_.frames()[id].name));
        return names;
    }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable stacks_{spaces_, 1 << 20};
};

TEST_F(WaitLoops, a_place_in_a_loop_gets_an_innermost_function) {
    const UniqueFd file = program(4000);
    const FrameId waits = place(4006), returns = place(4010);
    mark_wait_loops(stacks_, std::array{waits, returns}, file.get());
    EXPECT_THAT(functions_at(waits), ElementsAre("[busy wait]", "take"));
    EXPECT_THAT(functions_at(returns), ElementsAre("take"));
    ASSERT_EQ(stacks_.frames().size(), 3);
    for (const FrameId id : {waits, FrameId{2}}) {
        const CodeFrame& frame = stacks_.frames()[id];
        EXPECT_EQ(frame.module, 3);
        EXPECT_EQ(frame.offset, 4006);
        EXPECT_EQ(stacks_.name(frame.source), "lock.c");
        EXPECT_EQ(frame.line, 7);
    }
}

TEST_F(WaitLoops, a_loop_that_takes_a_lock_may_wait) {
    const UniqueFd file = program(4000, lock_loop);
    const FrameId waits = place(4002);
    mark_wait_loops(stacks_, std::array{waits}, file.get());
    EXPECT_THAT(functions_at(waits), ElementsAre("[busy wait?]", "take"));
}

TEST_F(WaitLoops, functions_inlined_at_the_place_stay) {
    const UniqueFd file = program(100);
    const FrameId inner = place(100), outer = place(100);
    stacks_.frames()[inner].name = stacks_.intern_name("is_free");
    stacks_.frames()[inner].inlined_into = outer;
    mark_wait_loops(stacks_, std::array{inner}, file.get());
    EXPECT_THAT(functions_at(inner), ElementsAre("[busy wait]", "is_free", "take"));
}

TEST_F(WaitLoops, at_the_begin_of_a_file_and_behind_its_end) {
    const UniqueFd file = program(0);
    const FrameId first = place(0), behind = place(1ULL << 40), unsigned_end = place(~0ULL);
    mark_wait_loops(stacks_, std::array{first, behind, unsigned_end}, file.get());
    EXPECT_THAT(functions_at(first), ElementsAre("[busy wait]", "take"));
    EXPECT_THAT(functions_at(behind), ElementsAre("take"));
    EXPECT_THAT(functions_at(unsigned_end), ElementsAre("take"));
}

TEST_F(WaitLoops, places_are_worth_a_look_if_samples_are_near) {
    const std::uint64_t loop_bytes = 64;
    std::vector<FrameId> places;
    for (const std::uint64_t offset :
         {1000 + loop_bytes - 1, std::uint64_t{1000}, 1000 + 2 * (loop_bytes - 1),
          std::uint64_t{5000}, std::uint64_t{5001}, std::uint64_t{9000}})
        places.push_back(place(offset));
    // The middle one of the first three has the others near; the last one is enough by itself.
    EXPECT_EQ(often_used_places(stacks_, places, {1, 1, 1, 1, 1, 3}),
              (std::vector<FrameId>{places[0], places[5]}));
    EXPECT_EQ(often_used_places(stacks_, places, {2, 1, 0, 1, 2, 2}),
              (std::vector<FrameId>{places[1], places[0], places[3], places[4]}));
    EXPECT_EQ(often_used_places(stacks_, {}, {}), std::vector<FrameId>{});
}

}  // namespace
}  // namespace lagtrap::trace::wait_loops_test
