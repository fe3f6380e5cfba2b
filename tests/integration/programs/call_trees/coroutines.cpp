// Coroutines of Boost.Context that switch back and forth with open calls on both sides, on stacks
// with a page between them and on stacks within one mapping. Prints what was called, without
// depths, because callers on another stack are undefined.
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include "trees.h"

namespace {

namespace context = boost::context;

// The other side; switching to it swaps this variable.
thread_local context::fiber other;

void switch_over() { other = std::move(other).resume(); }

}  // namespace

WATCHED void steps(int left) {
    NOTE("steps");
    tree_leaf(1);
    switch_over();
    if (left > 0) steps(left - 1);
    tree_leaf(2);
    switch_over();
}

WATCHED void throws_between(int value) {
    NOTE("throws_between");
    switch_over();
    if (value != -1) throw std::runtime_error("thrown");
}

WATCHED void runs_on_its_own() {
    NOTE("runs_on_its_own");
    steps(5);
    try {
        throws_between(1);
    } catch (const std::exception&) {
        tree_leaf(3);
    }
    steps(2);
}

// Abandoned in the middle; its stack is unwound from outside.
WATCHED void never_ends() {
    NOTE("never_ends");
    while (sink != -1) steps(1);
}

namespace {

template <typename Stack>
context::fiber coroutine(Stack stack, void (*function)()) {
    return context::fiber(std::allocator_arg, std::move(stack),
                          [function](context::fiber&& resumer) {
                              other = std::move(resumer);
                              function();
                              return std::move(other);
                          });
}

template <typename Stack>
void take_turns(int count) {
    std::vector<context::fiber> fibers;
    for (int i = 0; i < count; ++i)
        fibers.push_back(coroutine(Stack(16 * 1024), i % 2 == 0 ? runs_on_its_own : never_ends));
    for (int turn = 0; turn < 60; ++turn) {
        context::fiber& fiber = fibers[static_cast<std::size_t>(turn % count)];
        tree_twig(1);
        if (fiber) fiber = std::move(fiber).resume();
    }
}

}  // namespace

WATCHED void target_apart() {
    NOTE("target_apart");
    take_turns<context::protected_fixedsize_stack>(4);
    tree_leaf(4);
    if (sink == -1) runs_on_its_own(), never_ends();  // so that they are in the code
}

WATCHED void target_together() {
    NOTE("target_together");
    take_turns<context::fixedsize_stack>(4);
    tree_leaf(4);
    if (sink == -1) runs_on_its_own(), never_ends();
}

namespace {

int run_all(const char* mode) {
    if (std::strcmp(mode, "apart") == 0) return target_apart(), 1;
    if (std::strcmp(mode, "together") == 0) return target_together(), 1;
    return run_common(mode);
}

}  // namespace

int main() { return serve(run_all); }
