#include <stdexcept>

#include "tests/data/markers/shared.hpp"

enum class Color : unsigned char { red, blue };

int second_work(int rounds) {
    LAGTRAP_BEGIN_KEY("second", Color::blue);
    LAGTRAP_BEGIN_KEY_AT("second", &rounds, lagtrap_now_ns());
    try {
        LAGTRAP_SCOPE("second-scope");
        LAGTRAP_SCOPE_KEY("second-scope", rounds);
        if (rounds > 0) throw std::runtime_error("leaves the scope");
    } catch (const std::runtime_error&) {
        LAGTRAP_STAGE_KEY("second", "caught", true);
    }
    const int result =
        inline_work(rounds) + static_cast<int>(template_work(static_cast<long>(rounds)));
    LAGTRAP_END_KEY("second", Color::blue);
    return result;
}
