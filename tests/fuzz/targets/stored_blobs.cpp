// Binary columns of the server's database: sketches of durations, details of runs, stacks. The
// first byte selects which.
#include <cstdint>
#include <cstdlib>

#include "server/sketch/sketch.hpp"
#include "server/store/run_detail.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::server;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

void read_sketch(std::string_view bytes) {
    Sketch sketch;
    if (!sketch.merge_serialised(bytes)) return check(sketch.empty());
    Sketch back;
    check(back.merge_serialised(sketch.serialise()).ok() && back == sketch &&
          back.count() == sketch.count());
    std::uint64_t counted = 0;
    for (const Sketch::Bin& bin : sketch.bins()) counted += bin.count;
    check(counted == sketch.count());
    check(sketch.quantile_ns(0.5) <= sketch.quantile_ns(1));
    check(sketch.count_above(0) <= sketch.count());
    back.subtract(sketch);
    check(back.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view bytes = lagtrap::fuzz::text_of(data + 1, size - 1);
    if (data[0] % 3 == 0) {
        read_sketch(bytes);
    } else if (data[0] % 3 == 1) {
        const auto detail = read_detail(bytes);
        if (detail) check(read_detail(write_detail(*detail)).value() == *detail);
    } else {
        const auto stack = read_stack(bytes);
        if (stack)
            check(write_stack(read_stack(write_stack(*stack)).value()) == write_stack(*stack));
    }
    return 0;
}
