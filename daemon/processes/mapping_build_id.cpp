#include "daemon/processes/mapping_build_id.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "trace/processes/modules.hpp"

namespace lagtrap::daemon {
namespace {

constexpr std::size_t max_build_id_bytes = 20;

}  // namespace

void set_build_id(lagtrap_mapping& mapping, std::string_view hexadecimal) {
    mapping.build_id_bytes = 0;
    if (hexadecimal.find_first_not_of("0123456789abcdef") != std::string_view::npos) return;
    const std::size_t bytes = std::min(hexadecimal.size() / 2, max_build_id_bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        std::from_chars(hexadecimal.data() + 2 * i, hexadecimal.data() + 2 * i + 2,
                        mapping.build_id[i], 16);
    mapping.build_id_bytes = static_cast<std::uint8_t>(bytes);
}

std::string build_id_of(const lagtrap_mapping& mapping) {
    const std::size_t bytes = std::min<std::size_t>(mapping.build_id_bytes, max_build_id_bytes);
    return hexadecimal(std::string(reinterpret_cast<const char*>(mapping.build_id), bytes));
}

}  // namespace lagtrap::daemon
