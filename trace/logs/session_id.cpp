#include "trace/logs/session_id.hpp"

#include <cstddef>

namespace lagtrap::trace {

bool is_session_id(std::string_view text) {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        const bool digit = (text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f');
        if (hyphen ? text[i] != '-' : !digit) return false;
    }
    return true;
}

}  // namespace lagtrap::trace
