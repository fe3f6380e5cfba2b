#include "trace/stacks/stack_table.hpp"

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

}  // namespace
}  // namespace lagtrap::trace::stack_table_test
