#include "binaries/dwarf/source_lines.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const lagtrap::fuzz::MemoryFile file(data, size);
    lagtrap::binaries::DebugInfoLimits limits;
    limits.memory_bytes = 16 << 20;
    auto lines = lagtrap::binaries::SourceLines::open(file.path(), file.path(), limits);
    if (!lines) return 0;
    for (std::uint64_t offset = 0x1000; offset < 0x1800; offset += 64)
        (void)lines->frames_at(offset);
    for (std::uint64_t address = 0x1000; address < 0x1800; address += 64)
        (void)lines->frames_at_address(address);
    return 0;
}
