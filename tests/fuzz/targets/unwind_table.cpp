#include "binaries/unwind/unwind_table.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto image = lagtrap::binaries::ElfImage::from_bytes(
        std::string(lagtrap::fuzz::text_of(data, size)), "program");
    if (!image) return 0;
    const auto table = lagtrap::binaries::make_unwind_table(*image);
    if (!table) return 0;
    for (const auto& segment : table->segments)
        for (const std::uint64_t place :
             {std::uint64_t{0}, segment.size_bytes / 2, segment.size_bytes - 1})
            (void)lagtrap::binaries::find_unwind_rule(*table, segment.address + place);
    return 0;
}
