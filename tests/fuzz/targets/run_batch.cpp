#include "trace/run_batches/run_batch.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto batch = lagtrap::trace::read_run_batch(lagtrap::fuzz::text_of(data, size));
    if (!batch) return 0;
    // Data that was read can be written, and reads back the same.
    const auto bytes = lagtrap::trace::write_run_batch(*batch);
    if (bytes && !lagtrap::trace::read_run_batch(*bytes)) std::abort();
    return 0;
}
