// Writes a part of an object watch, as `lagtrap objects --send` sends it, to standard output, for
// tests of the pages: make_objects WATCH HOST NUMBER [long|last]. Part 1 names classes and
// functions and has the calls of shop_objects.hpp; every other part has one call. "long" makes it
// as large as a part may be. "last" ends the watch.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/integration/shop_objects.hpp"
#include "trace/run_batches/run_batch.hpp"

namespace {

namespace calls = lagtrap::calls;
namespace test = lagtrap::test;
namespace trace = lagtrap::trace;

std::string lines_of(std::uint64_t number, const std::string& kind, std::uint64_t now_ns) {
    const std::uint64_t at_ms = 1'000 * number;
    std::vector<calls::ObjectCall> reported =
        number == 1 ? test::shop_calls() : std::vector<calls::ObjectCall>{};
    if (number > 1) reported = {test::shop_call(test::ShopPrice, at_ms, 1)};
    std::string lines = number == 1 ? test::line_of(test::shop_started(4002, now_ns)) + "\n" : "";
    if (kind == "long") {
        reported[0].title = "long";
        reported[0].title.resize(trace::objects_part_limit_bytes - test::line_of(reported).size(),
                                 '.');
        return test::line_of(reported) + "\n";
    }
    lines += test::line_of(reported) + "\n";
    if (kind == "last") return lines + test::line_of(test::shop_ended(1, 2)) + "\n";
    const std::uint64_t until_ns = test::shop_began_monotonic_ns + at_ms * test::shop_ms;
    return lines + test::line_of(calls::ObjectCounts{until_ns, test::shop_counts(1, 2)}) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5) return EXIT_FAILURE;
    const std::uint64_t number = std::strtoull(argv[3], nullptr, 10);
    const std::string kind = argc == 5 ? argv[4] : "";
    trace::RunBatch batch;
    char id[64];
    std::snprintf(id, sizeof id, "%.23s-%012llx", argv[1], static_cast<unsigned long long>(number));
    batch.batch_id = batch.boot_id = id;
    batch.host = argv[2];
    batch.version = LAGTRAP_VERSION;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    batch.made_realtime_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
    batch.objects = {argv[1],
                     static_cast<std::uint32_t>(number),
                     4002,
                     "shop",
                     0,
                     kind == "last",
                     lines_of(number, kind, batch.made_realtime_ns)};
    const auto bytes = trace::write_run_batch(batch);
    if (!bytes) {
        std::fprintf(stderr, "%s\n", bytes.error().message.c_str());
        return EXIT_FAILURE;
    }
    return std::fwrite(bytes->data(), 1, bytes->size(), stdout) == bytes->size() ? EXIT_SUCCESS
                                                                                 : EXIT_FAILURE;
}
