#include "tests/data/markers/shared.hpp"

int first_work(int rounds) {
    LAGTRAP_BEGIN("first");
    const int result = inline_work(rounds) + template_work(rounds);
    LAGTRAP_END("first");
    return result;
}
