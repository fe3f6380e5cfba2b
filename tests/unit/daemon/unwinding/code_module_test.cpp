#include "daemon/unwinding/code_module.hpp"

#include <gtest/gtest.h>

namespace lagtrap::daemon::code_module_test {
namespace {

constexpr std::uint64_t start = 0x7f0000000000;

// Two segments of code; the first bytes of the second one share a page of the file with the first.
CodeModule module_of_two() {
    CodeModule module;
    module.key = "file";
    module.base_address = 0x1000;
    module.segments = {{.file_offset = 0x1000, .address = 0x1000, .size_bytes = 0x1800},
                       {.file_offset = 0x2800, .address = 0x13800, .size_bytes = 0x3000}};
    return module;
}

// For each mapping, an address of the table's first bucket plus the code's address is where the
// code is mapped.
std::uint64_t table_start_by_hand(std::uint64_t mapped_at, std::uint64_t file_offset,
                                  const binaries::CodeSegment& segment) {
    const std::uint64_t address = segment.address - segment.file_offset + file_offset;
    return mapped_at - address + 0x1000;
}

TEST(CodeModule, EachMappingUsesTheAddressesOfItsSegment) {
    const CodeModule module = module_of_two();
    struct Case {
        std::uint64_t file_offset;
        std::size_t segment;
    };
    for (const Case& one : {Case{0x1000, 0}, Case{0x1fff, 0}, Case{0x2000, 1}, Case{0x2800, 1},
                            Case{0x3000, 1}, Case{0x57ff, 1}, Case{0x5800, 0}, Case{0, 0}})
        EXPECT_EQ(module.table_start(start, one.file_offset),
                  table_start_by_hand(start, one.file_offset, module.segments[one.segment]))
            << std::hex << one.file_offset;
}

TEST(CodeModule, TheVdsoIsMappedFromItsBegin) {
    CodeModule module = module_of_two();
    module.key = vdso_path;
    module.segments = {{.file_offset = 0, .address = 0, .size_bytes = 0x1000}};
    EXPECT_TRUE(module.is_vdso());
    EXPECT_EQ(module.table_start(start, 0), start + 0x1000);
    EXPECT_EQ(module.table_start(start, 0x5000), start + 0x1000) << "its offset is meaningless";
}

TEST(CodeModule, IsUnreadUntilItIsQueuedOrDone) {
    CodeModule module;
    EXPECT_TRUE(module.unread());
    module.queued = true;
    EXPECT_FALSE(module.unread());
    module.queued = false;
    module.state = ModuleState::Failed;
    EXPECT_FALSE(module.unread());
}

}  // namespace
}  // namespace lagtrap::daemon::code_module_test
