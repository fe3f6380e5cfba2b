// Writes messages of the trace format field by field, for tests of what reads them.
#pragma once

#include <string>
#include <utility>

#include <protozero/pbf_writer.hpp>

namespace lagtrap::test {

// The bytes of a message that `fill(pbf_writer&)` writes.
template <typename Fill>
std::string message_of(Fill&& fill) {
    std::string bytes;
    protozero::pbf_writer writer(bytes);
    std::forward<Fill>(fill)(writer);
    return bytes;
}

}  // namespace lagtrap::test
