#include <cstdint>
#include <cstdlib>
#include <string>

#include "analysis/delay_report.hpp"
#include "analysis/recording.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)lagtrap::analysis::decode_recording(lagtrap::fuzz::text_of(data, size), {});
    return 0;
}
