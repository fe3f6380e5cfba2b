// The estimated cost of a probe by the instruction it is on.
#include "daemon/probes/overhead_probes.hpp"

#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "binaries/elf/program_file.hpp"

namespace lagtrap::daemon::overhead_probes_test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

#if defined(__x86_64__)
TEST(ProbeKindOf, LooksAtTheInstruction) {
    for (const char* simple : {"\x90\xc3", "\x66\x90", "\x0f\x1f", "\x55\x48", "\x41\x57",
                               "\xe8\x12", "\xe9\x12", "\xeb\x12", "\x74\x12", "\x0f\x84"})
        EXPECT_EQ(probe_kind_of(simple), ProbeKind::Simple) << testing::PrintToString(simple);
    for (const char* stepped : {"\xc3\x90", "\x48\x89", "\xf3\x0f", "\x41\x89", "\x48\x83"})
        EXPECT_EQ(probe_kind_of(stepped), ProbeKind::Stepped) << testing::PrintToString(stepped);
}

TEST(ProbeKindOf, TakesTheCostlierWhereNothingIsKnown) {
    EXPECT_EQ(probe_kind_of(""), ProbeKind::Stepped);
    EXPECT_EQ(probe_kind_of("\x90"), ProbeKind::Stepped);
}

// The costs of the kinds are measured at three functions of this program.
TEST(MeasuredFunctions, BeginWithAnInstructionOfTheirKind) {
    const auto program = binaries::ProgramFile::open("/proc/self/exe");
    ASSERT_TRUE(program.ok()) << program.error().message;
    const auto found = program->find_functions(std::vector<std::string>{
        "lagtrap_measured_nop", "lagtrap_measured_lea", "lagtrap_measured_return"});
    ASSERT_TRUE(found.ok()) << found.error().message;
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::set<std::uint64_t> offsets;
    std::vector<ProbeKind> kinds;
    for (const auto& named : *found) {
        ASSERT_THAT(named, SizeIs(1));
        offsets.insert(named[0].file_offset);
        std::string code(binaries::code_bytes, '\0');
        file.seekg(static_cast<std::streamoff>(named[0].file_offset));
        file.read(code.data(), static_cast<std::streamsize>(code.size()));
        kinds.push_back(probe_kind_of(code));
    }
    // The entry of the third is subtracted from the cost of its return.
    EXPECT_THAT(kinds, ElementsAre(ProbeKind::Simple, ProbeKind::Stepped, ProbeKind::Simple));
    EXPECT_EQ(offsets.size(), 3U) << "probes at one place share its breakpoint";
}
#endif

TEST(ProbeCosts, EachKindHasItsOwn) {
    const ProbeCosts costs{600, 10'000, 400, 200, 100, true};
    EXPECT_EQ(costs.of(ProbeKind::Simple), 600);
    EXPECT_EQ(costs.of(ProbeKind::Stepped), 10'000);
    EXPECT_EQ(costs.of(ProbeKind::Return), 400);
    EXPECT_EQ(costs.of(ProbeKind::Tracepoint), 200);
    EXPECT_EQ(costs.of(ProbeKind::Scheduler), 100);
}

TEST(ProbeCosts, TheMeanIsThatOfTheMarkers) {
    const ProbeCosts costs{600, 10'000, 400, 200, 100, true};
    EXPECT_EQ(costs.mean({}), 600);
    EXPECT_EQ(costs.mean({ProbeKind::Simple, ProbeKind::Return}), 500);
    EXPECT_EQ(costs.mean({ProbeKind::Simple, ProbeKind::Stepped}), 5300);
    EXPECT_EQ(costs.mean({ProbeKind::Tracepoint}), 200);
}

}  // namespace
}  // namespace lagtrap::daemon::overhead_probes_test
