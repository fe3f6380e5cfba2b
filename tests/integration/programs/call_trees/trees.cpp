// As trees.c, with C++: its exits are watched at instructions.
#include "trees.h"

#include <cstring>
#include <memory>
#include <stdexcept>

namespace {

class Shape {
  public:
    virtual ~Shape() = default;
    virtual int area(int side) const = 0;
};

}  // namespace

WATCHED void thrower(int value) {
    NOTE("thrower");
    compute(10);
    if (value != -1) throw std::runtime_error("thrown");
}

WATCHED void passed(int value) {
    NOTE("passed");
    tree_leaf(1);
    thrower(value);
    tree_leaf(2);
}

WATCHED void catcher(int value) {
    NOTE("catcher");
    try {
        passed(value);
    } catch (const std::exception&) {
        tree_leaf(3);
    }
}

WATCHED void target_throw() {
    NOTE("target_throw");
    catcher(1);
    tree_leaf(4);
    try {
        passed(2);
    } catch (const std::exception&) {
        compute(1);
    }
    catcher(3);
    catcher(-1);
}

// Left by exceptions at the same stack position again and again.
WATCHED void target_again() {
    NOTE("target_again");
    for (int value = 0; value < 5; ++value) {
        try {
            thrower(value);
        } catch (const std::exception&) {
            compute(1);
        }
    }
}

WATCHED void target_thrown() {
    NOTE("target_thrown");
    passed(1);
}

WATCHED int square_area(int side) {
    NOTE("square_area");
    compute(10);
    return side * side;
}

WATCHED int circle_area(int side) {
    NOTE("circle_area");
    compute(10);
    return side * side * 3;
}

namespace {

class Square : public Shape {
  public:
    int area(int side) const override { return square_area(side) + 1; }
};

class Circle : public Shape {
  public:
    int area(int side) const override { return circle_area(side) + 1; }
};

std::unique_ptr<Shape> shapes[2] = {std::make_unique<Square>(), std::make_unique<Circle>()};
int (*volatile by_pointer)(int) = square_area;

}  // namespace

WATCHED int target_virtual(int rounds) {
    NOTE("target_virtual");
    int sum = 0;
    for (int i = 0; i < rounds; ++i) sum += shapes[i % 2]->area(i);
    sum += by_pointer(3);
    tree_leaf(1);
    return sum;
}

namespace {

int run_all(const char* mode) {
    if (run_common(mode)) return 1;
    if (std::strcmp(mode, "throw") == 0) return target_throw(), 1;
    if (std::strcmp(mode, "again") == 0) return target_again(), 1;
    if (std::strcmp(mode, "virtual") == 0) return sink = target_virtual(4), 1;
    if (std::strcmp(mode, "thrown") != 0) return 0;
    try {
        target_thrown();
    } catch (const std::exception&) {
        tree_leaf(1);
    }
    return 1;
}

}  // namespace

int main() { return serve(run_all); }
