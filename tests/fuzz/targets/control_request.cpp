#include "daemon/control/control_request.hpp"

#include <cstdint>
#include <cstdlib>

#include <boost/json/serialize.hpp>

#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto request = lagtrap::daemon::parse_control_request(lagtrap::fuzz::text_of(data, size));
    if (request && boost::json::serialize(*request).empty()) std::abort();
    return 0;
}
