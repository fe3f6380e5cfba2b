#include "trace/stacks/stack_table.hpp"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lagtrap::trace::stack_table_test {
namespace {

using testing::ElementsAre;

class StackTableTest : public testing::Test {
  protected:
    static constexpr std::uint64_t id = 7;

    // A stack of functions with these names, innermost first.
    std::vector<std::string> finished(const std::vector<std::string>& names,
                                      lagtrap_stack_kind kind = LAGTRAP_STACK_KERNEL) {
        std::vector<std::uint64_t> words(
            (sizeof(lagtrap_stack) + names.size() * sizeof(std::uint64_t)) / sizeof(std::uint64_t));
        auto* const stack = reinterpret_cast<lagtrap_stack*>(words.data());
        stack->stack_id = id;
        stack->pid = kind == LAGTRAP_STACK_KERNEL ? 0 : 100;
        stack->kind = static_cast<std::uint8_t>(kind);
        stack->end = LAGTRAP_STACK_END_UNKNOWN;
        stack->frame_count = static_cast<std::uint16_t>(names.size());
        for (std::size_t i = 0; i < names.size(); ++i) stack->frames[i] = 0x1000 * (i + 1);
        table_.add(*stack);
        const auto places = table_.frames_of(*table_.find(id));
        for (std::size_t i = 0; i < names.size(); ++i)
            table_.frames()[places[i]].name = table_.intern_name(names[i]);
        table_.finish();
        std::vector<std::string> kept;
        for (const FrameId frame : table_.frames_of(*table_.find(id)))
            kept.push_back(table_.name(table_.frames()[frame].name));
        return kept;
    }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable table_{spaces_, 1 << 20};
};

TEST_F(StackTableTest, CountsUsesOfAllFramesAndOfTheInnermost) {
    finished({"inner", "middle", "outer"});
    table_.count_use(id);
    table_.count_use(id);
    table_.count_use(id + 1);
    EXPECT_THAT(table_.uses_of_frames(), ElementsAre(2, 2, 2));
    EXPECT_THAT(table_.innermost_uses(), ElementsAre(2, 0, 0));
}

TEST_F(StackTableTest, LosesTheFramesOfTheTracingItself) {
    EXPECT_THAT(finished({"bpf_prog", "bpf_trace_run4", "__traceiter_sched_switch", "__schedule",
                          "schedule"}),
                ElementsAre("__schedule", "schedule"));
    EXPECT_EQ(table_.find(id)->function_count, 2U);
    EXPECT_EQ(table_.find(id)->named_count, 2U);
}

TEST_F(StackTableTest, KeepsAStackThatEndsInATracingFunction) {
    EXPECT_THAT(finished({"bpf_prog", "bpf_trace_run4"}),
                ElementsAre("bpf_prog", "bpf_trace_run4"));
    EXPECT_EQ(table_.find(id)->function_count, 2U);
}

TEST_F(StackTableTest, KeepsAStackOfOneTracingFunction) {
    EXPECT_THAT(finished({"__bpf_trace_run"}), ElementsAre("__bpf_trace_run"));
}

TEST_F(StackTableTest, LosesTheInnerTracingFramesIfTheOutermostIsOne) {
    EXPECT_THAT(finished({"bpf_trace_run4", "work", "__traceiter_x"}),
                ElementsAre("work", "__traceiter_x"));
}

TEST_F(StackTableTest, KeepsFunctionsOfProgramsWithSuchNames) {
    EXPECT_THAT(finished({"bpf_trace_run4", "main"}, LAGTRAP_STACK_USER),
                ElementsAre("bpf_trace_run4", "main"));
}

TEST_F(StackTableTest, LooksForTracingFramesInTheEightInnermostOnes) {
    std::vector<std::string> names(10, "f");
    names[7] = "bpf_trace_run4";
    EXPECT_THAT(finished(names), ElementsAre("f", "f"));
}

TEST_F(StackTableTest, KeepsTracingFramesFurtherOut) {
    std::vector<std::string> names(10, "f");
    names[8] = "bpf_trace_run4";
    EXPECT_EQ(finished(names).size(), 10U);
}

TEST_F(StackTableTest, AStackIsWholeIfItsOutermostFunctionBeginsThreads) {
    const auto is_whole = [](const std::string& outermost, lagtrap_stack_kind kind) {
        ModuleTable modules;
        AddressSpaces spaces(modules);
        StackTable table(spaces, 1 << 20);
        std::array<std::uint64_t, (sizeof(lagtrap_stack) + 16) / 8> words{};
        auto* const stack = reinterpret_cast<lagtrap_stack*>(words.data());
        stack->stack_id = id;
        stack->kind = static_cast<std::uint8_t>(kind);
        stack->frame_count = 2;
        stack->frames[0] = 0x1000;
        stack->frames[1] = 0x2000;
        table.add(*stack);
        const FrameId outer = table.frames_of(*table.find(id))[1];
        table.frames()[outer].name = table.intern_name(outermost);
        table.finish();
        return table.find(id)->complete;
    };
    for (const char* name : {"_start", "start_thread", "clone", "clone3", "__clone", "__clone3",
                             "_dl_start_user", "__libc_start_main", "__libc_start_call_main"})
        EXPECT_TRUE(is_whole(name, LAGTRAP_STACK_USER)) << name;
    for (const char* name : {"main", "start", "clones", ""})
        EXPECT_FALSE(is_whole(name, LAGTRAP_STACK_USER)) << name;
    EXPECT_FALSE(is_whole("_start", LAGTRAP_STACK_KERNEL));
}

class StacksOfAProcess : public testing::Test {
  protected:
    // The addresses of a stack's frames.
    std::vector<std::uint64_t> addresses(std::uint64_t stack_id) {
        std::vector<std::uint64_t> found;
        for (const FrameId frame : table_.frames_of(*table_.find(stack_id)))
            found.push_back(table_.frames()[frame].offset);
        return found;
    }
    void add(std::uint64_t stack_id, const std::vector<std::uint64_t>& frames,
             lagtrap_stack_kind kind = LAGTRAP_STACK_USER, unsigned end = 0) {
        std::vector<std::uint64_t> words(sizeof(lagtrap_stack) / 8);
        words.insert(words.end(), frames.begin(), frames.end());
        auto* const stack = reinterpret_cast<lagtrap_stack*>(words.data());
        stack->header.at_ns = 50;
        stack->stack_id = stack_id;
        stack->pid = 100;
        stack->kind = static_cast<std::uint8_t>(kind);
        stack->end = static_cast<std::uint8_t>(end);
        stack->frame_count = static_cast<std::uint16_t>(frames.size());
        table_.add(*stack);
    }

    ModuleTable modules_;
    AddressSpaces spaces_{modules_};
    StackTable table_{spaces_, 1 << 20};
};

TEST_F(StacksOfAProcess, HaveTheCallsBeforeTheirReturnAddresses) {
    add(1, {0x1000, 0x2000, 0});
    EXPECT_THAT(addresses(1), ElementsAre(0x1000, 0x1fff, 0));
    add(2, {0x1000, 0x2000}, LAGTRAP_STACK_KERNEL);
    EXPECT_THAT(addresses(2), ElementsAre(0x1000, 0x1fff));
    EXPECT_EQ(table_.frames()[table_.frames_of(*table_.find(2))[0]].module, kernel_module);
    EXPECT_EQ(table_.frames()[table_.frames_of(*table_.find(1))[0]].module, unknown_module);
    EXPECT_EQ(table_.frames().size(), 5U) << "the kernel's places are others";
    add(3, {0x1000, 0x3000});
    EXPECT_EQ(table_.frames().size(), 6U) << "one place is known";
    ASSERT_EQ(table_.run_time_frames().size(), 4U) << "of code without a file";
    EXPECT_EQ(table_.run_time_frames()[0].pid, 100U);
    EXPECT_EQ(table_.run_time_frames()[0].at_ns, 50U);
}

TEST_F(StacksOfAProcess, AreKeptOnceAndOnlyWithANumberAndFrames) {
    add(1, {0x1000});
    add(1, {0x5000});
    EXPECT_THAT(addresses(1), ElementsAre(0x1000));
    add(0, {0x1000});
    add(2, {});
    EXPECT_EQ(table_.find(0), nullptr);
    EXPECT_EQ(table_.find(2), nullptr);
    EXPECT_EQ(table_.dropped(), 0U);
}

TEST_F(StacksOfAProcess, SayHowTheyEnded) {
    add(1, {0x1000}, LAGTRAP_STACK_USER,
        LAGTRAP_STACK_END_COMPLETE | LAGTRAP_STACK_BY_FRAME_POINTER);
    add(2, {0x1000}, LAGTRAP_STACK_USER, LAGTRAP_STACK_END_GAP);
    EXPECT_EQ(table_.find(1)->end, LAGTRAP_STACK_END_COMPLETE);
    EXPECT_TRUE(table_.find(1)->complete);
    EXPECT_TRUE(table_.find(1)->by_frame_pointers);
    EXPECT_EQ(table_.find(2)->end, LAGTRAP_STACK_END_GAP);
    EXPECT_FALSE(table_.find(2)->complete);
    EXPECT_FALSE(table_.find(2)->by_frame_pointers);
    EXPECT_FALSE(table_.find(1)->late);
}

TEST_F(StacksOfAProcess, OfACopyContinueTheInnerStack) {
    add(1, {0x1000, 0x2000});
    lagtrap_stack_copy copy{};
    copy.header.at_ns = 60;
    copy.stack_id = 5;
    copy.inner_id = 1;
    copy.pid = 100;
    copy.pc = 0x7000;
    table_.add_copied(copy, std::array<std::uint64_t, 2>{0x3000, 0}, LAGTRAP_STACK_END_COMPLETE);
    EXPECT_THAT(addresses(5), ElementsAre(0x1000, 0x1fff, 0x2fff, 0));
    EXPECT_TRUE(table_.find(5)->late);
    EXPECT_TRUE(table_.find(5)->complete);
    table_.add_copied(copy, {}, 0);
    EXPECT_EQ(table_.find(5)->frame_count, 4U) << "the first one counts";
    copy.stack_id = 6;
    copy.inner_id = 99;
    table_.add_copied(copy, std::array<std::uint64_t, 1>{0x3000}, LAGTRAP_STACK_END_GAP);
    EXPECT_THAT(addresses(6), ElementsAre(0x7000, 0x2fff)) << "the inner stack was lost";
    copy.stack_id = 0;
    table_.add_copied(copy, {}, 0);
    EXPECT_EQ(table_.find(0), nullptr);
    EXPECT_EQ(table_.dropped(), 0U);
}

TEST_F(StacksOfAProcess, BeyondTheirMemoryAreDropped) {
    StackTable small(spaces_, 0);
    std::array<std::uint64_t, sizeof(lagtrap_stack) / 8 + 1> words{};
    auto* const stack = reinterpret_cast<lagtrap_stack*>(words.data());
    stack->frame_count = 1;
    stack->stack_id = 1;
    small.add(*stack);
    stack->stack_id = 2;
    small.add(*stack);
    lagtrap_stack_copy copy{};
    copy.stack_id = 3;
    small.add_copied(copy, {}, 0);
    EXPECT_NE(small.find(1), nullptr) << "one that exceeds it is the last";
    EXPECT_EQ(small.find(2), nullptr);
    EXPECT_EQ(small.find(3), nullptr);
    EXPECT_EQ(small.dropped(), 2U);
}

TEST_F(StacksOfAProcess, NamesAreKeptOnce) {
    const std::size_t before = table_.name_bytes();
    const FunctionName one = table_.intern_name("one");
    EXPECT_EQ(table_.intern_name("one"), one);
    EXPECT_EQ(table_.name_bytes() - before, 2 * (3 + sizeof(std::string)));
    EXPECT_NE(table_.intern_name("two"), one);
    EXPECT_EQ(table_.intern_name(""), no_name);
    EXPECT_EQ(table_.name(one), "one");
}

}  // namespace
}  // namespace lagtrap::trace::stack_table_test
