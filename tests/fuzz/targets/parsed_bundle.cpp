// Messages of the sandboxed parser to the server.
#include "server/ingest/parsed_bundle.hpp"

#include <cstdint>
#include <cstdlib>

#include "core/text.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap::server;

namespace {

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = read_parsed_bundle(lagtrap::fuzz::text_of(data, size));
    if (!parsed) return 0;
    check(parsed->delays.size() <= parsed_delays_limit);
    for (const BundleDelay& delay : parsed->delays) {
        check(delay.profile.size() <= profile_limit_bytes &&
              delay.details.size() <= profile_limit_bytes);
        for (const std::string* text : {&delay.event, &delay.process, &delay.thread, &delay.user,
                                        &delay.build, &parsed->facts.host})
            check(lagtrap::printable(*text) == *text);
    }
    check(read_parsed_bundle(write_parsed_bundle(*parsed)).ok());
    return 0;
}
