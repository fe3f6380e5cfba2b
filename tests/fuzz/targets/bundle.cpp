#include "trace/bundle.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const lagtrap::fuzz::MemoryFile file(data, size);
    (void)lagtrap::trace::read_open_bundle(file.fd(), 16 << 20);
    return 0;
}
