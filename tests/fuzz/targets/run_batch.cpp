#include "trace/run_batches/run_batch.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto batch = lagtrap::trace::read_run_batch(lagtrap::fuzz::text_of(data, size));
    if (!batch) return 0;
    // What was read can be written, and is the same when read again.
    const auto bytes = lagtrap::trace::write_run_batch(*batch);
    if (bytes && !lagtrap::trace::read_run_batch(*bytes)) std::abort();
    return 0;
}
