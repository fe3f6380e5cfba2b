// A game's search calls itself, 24 deep.
#include "program.hpp"

namespace {

PLANTED long search_moves(int depth, long position) {
    if (depth == 0) return position % 7;
    const long left = search_moves(depth - 1, position * 3 + 1);
    const long right = search_moves(depth - 1, position * 5 + 2);
    return left > right ? left : right;
}

PLANTED long choose_move(int depth) {
    const long best = search_moves(depth, 1);
    __asm__ __volatile__("" ::: "memory");
    return best;
}

}  // namespace

int main() {
    return cases::serve([](bool slow) { (void)choose_move(slow ? 27 : 8); });
}
