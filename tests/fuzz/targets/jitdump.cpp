#include "trace/names/jitdump.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)lagtrap::trace::parse_jitdump(lagtrap::fuzz::text_of(data, size));
    return 0;
}
