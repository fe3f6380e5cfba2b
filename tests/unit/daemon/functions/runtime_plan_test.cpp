#include "daemon/functions/runtime_plan.hpp"

#include <vector>

#include <gmock/gmock.h>

#include "tests/unit/daemon/process_fixture.hpp"

namespace lagtrap::daemon::runtime_plan_test {
namespace {

using testing::HasSubstr;

#if defined(__x86_64__)
class RuntimePlanTest : public testing::Test {
  protected:
    binaries::ProgramFile program_ =
        binaries::ProgramFile::open(MadeUpProcess::own_allocator()).value();
    static constexpr std::uint8_t rax = 0, rcx = 1, rdx = 2, rsi = 6, rdi = 7;
};

void expect_register(const lagtrap_argument& argument, std::uint8_t number, std::uint8_t bytes) {
    EXPECT_EQ(argument.place, LAGTRAP_ARGUMENT_REGISTER);
    EXPECT_EQ(argument.base, number);
    EXPECT_EQ(argument.bytes, bytes);
}

TEST_F(RuntimePlanTest, AMethodHasItsClassNameFileAndLine) {
    const auto probes = runtime_probes(program_, calls::Runtime::Ruby, false);
    ASSERT_TRUE(probes) << probes.error().message;
    ASSERT_EQ(probes->size(), 2U);
    const RuntimeProbe& entry = probes->at(0);
    EXPECT_FALSE(entry.at_end);
    EXPECT_NE(entry.offset, 0U);
    EXPECT_EQ(entry.semaphore, 0U);
    expect_register(entry.site.scope, rdi, 8);
    expect_register(entry.site.name, rsi, 8);
    expect_register(entry.site.file, rdx, 8);
    expect_register(entry.site.line, rcx, 4);
    EXPECT_EQ(entry.site.scope_length.place, LAGTRAP_ARGUMENT_NONE);
    EXPECT_EQ(entry.site.name_length.place, LAGTRAP_ARGUMENT_NONE);
    EXPECT_EQ(entry.site.flags, 0U);
    const RuntimeProbe& end = probes->at(1);
    EXPECT_TRUE(end.at_end);
    EXPECT_EQ(end.offset, entry.offset + 1);
    EXPECT_EQ(end.site.line.place, LAGTRAP_ARGUMENT_NONE) << "it is that of the return";
    expect_register(end.site.file, rdx, 8);
}

TEST_F(RuntimePlanTest, FunctionsInCAreThereOnRequest) {
    const auto probes = runtime_probes(program_, calls::Runtime::Ruby, true);
    ASSERT_TRUE(probes);
    ASSERT_EQ(probes->size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        const RuntimeProbe& one = probes->at(i);
        EXPECT_EQ(one.offset, probes->front().offset + i);
        EXPECT_EQ(one.at_end, i % 2 == 1);
        EXPECT_EQ(one.site.flags, i < 2 ? 0U : std::uint32_t{LAGTRAP_RUNTIME_IN_C});
        expect_register(one.site.scope, i < 2 ? rdi : rax, 8);
    }
}

TEST_F(RuntimePlanTest, SaysWhyThereAreNone) {
    const auto node = runtime_probes(program_, calls::Runtime::Node, true);
    ASSERT_FALSE(node);
    EXPECT_EQ(node.error().kind, ErrorKind::NotFound);
    EXPECT_EQ(node.error().message, calls::traits_of(calls::Runtime::Node).missing);
    const auto python = runtime_probes(program_, calls::Runtime::Python, true);
    ASSERT_FALSE(python);
    EXPECT_EQ(python.error().kind, ErrorKind::NotFound);
}
#endif

}  // namespace
}  // namespace lagtrap::daemon::runtime_plan_test
