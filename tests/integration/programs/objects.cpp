// Creates, uses and releases objects as requested on standard input, and counts them: one mode per
// line, one answer each.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace shop {

class Item {
  public:
    NOINLINE explicit Item(std::size_t bytes);
    NOINLINE virtual ~Item();
    NOINLINE virtual int price();

  private:
    std::vector<char> content_;
};
Item::Item(std::size_t bytes) : content_(bytes, 'x') {}
Item::~Item() { asm volatile(""); }
int Item::price() { return static_cast<int>(content_.size()); }

class Gadget : public Item {
  public:
    NOINLINE explicit Gadget(int size);
    NOINLINE ~Gadget() override;
    NOINLINE int price() override;
};
Gadget::Gadget(int size) : Item(10) {
    if (size < 0) throw std::runtime_error("no gadget of size " + std::to_string(size));
}
Gadget::~Gadget() { asm volatile(""); }
int Gadget::price() {
    const int own = Item::price();
    asm volatile("");
    return own + 1;
}

}  // namespace shop

// Handles in C, with errors.
struct handle {
    int uses;
};
extern "C" {
NOINLINE int handle_open(int want, struct handle** place) {
    if (want < 0) {
        *place = nullptr;
        return 7;
    }
    *place = static_cast<handle*>(std::calloc(1, sizeof(handle)));
    asm volatile("" ::: "memory");
    return 0;
}
NOINLINE int handle_use(struct handle* handle, int fail) {
    handle->uses++;
    asm volatile("" ::: "memory");
    return fail ? 9 : 0;
}
NOINLINE const char* handle_error(int code) {
    asm volatile("" ::: "memory");
    return code == 7 ? "the handle is not wanted" : "the handle is worn out, token=hunter2";
}
NOINLINE void handle_close(struct handle* handle) {
    std::free(handle);
    asm volatile("" ::: "memory");
}
// Ends with a jump to the allocator. Too short for a probe inside.
NOINLINE void handle_forget(struct handle*) {}

NOINLINE void handle_drop(struct handle* handle) {
    handle->uses++;
    asm volatile("" ::: "memory");
    std::free(handle);
}
// Ends with a jump to another function, and returns its result.
NOINLINE int handle_inner(int want, struct handle** place) { return handle_open(want, place) + 0; }
NOINLINE int handle_open_quickly(int want, struct handle** place) {
    return handle_inner(want, place);
}
}

namespace {

std::vector<std::unique_ptr<shop::Item>> kept;
std::string* volatile sink;

NOINLINE void keep_items(int count) {
    for (int i = 0; i < count; ++i) kept.push_back(std::make_unique<shop::Item>(1000));
}

NOINLINE void keep_deep(int levels) {
    if (levels == 0) {
        kept.push_back(std::make_unique<shop::Item>(1000));
    } else {
        keep_deep(levels - 1);
    }
    asm volatile("");  // prevents a jump instead of the call
}

// Every other creation fails, at the same stack position.
NOINLINE void keep_some(int count) {
    for (int i = 0; i < count; ++i) {
        try {
            kept.push_back(std::unique_ptr<shop::Item>(new shop::Gadget(i % 2 == 0 ? i : -i)));
        } catch (const std::exception&) {
        }
    }
}

NOINLINE void make_and_release(int count) {
    for (int i = 0; i < count; ++i) {
        std::unique_ptr<shop::Item> gadget(new shop::Gadget(i));
        gadget->price();
    }
}

// A run of the test's event.
extern "C" NOINLINE void slow_work(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    asm volatile("");
}

// The same stack position each time.
NOINLINE void fail(int count) {
    for (int i = 0; i < count; ++i) {
        try {
            shop::Gadget gadget(-1 - i);
            gadget.price();
        } catch (const std::exception&) {
        }
    }
}

NOINLINE void handles(int count) {
    for (int i = 0; i < count; ++i) {
        handle* one = nullptr;
        if (const int code = handle_open_quickly(-1, &one); code != 0)
            sink = new std::string(handle_error(code));
        delete sink;
        if (handle_open_quickly(1, &one) != 0) std::abort();
        handle_use(one, 0);
        if (const int code = handle_use(one, 1); code != 0) handle_error(code);
        handle_close(one);
    }
}

NOINLINE void drop(int count) {
    for (int i = 0; i < count; ++i) {
        handle* one = nullptr;
        if (handle_open(1, &one) != 0) std::abort();
        handle_drop(one);
    }
}

NOINLINE void misuse() {
    handle* one = nullptr;
    if (handle_open(1, &one) != 0) std::abort();
    handle_close(one);
    handle_close(static_cast<handle*>(std::calloc(1, sizeof(handle))));
    // An object already released, without touching it: only its address matters.
    handle other{};
    handle_use(&other, 0);
    handle_close(one = static_cast<handle*>(std::calloc(1, sizeof(handle))));
}

NOINLINE void hot(int count) {
    for (int i = 0; i < count; ++i) {
        shop::Item item(1);
        item.price();
    }
}

void in_threads(int count) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([count] { make_and_release(count); });
    for (std::thread& one : threads) one.join();
}

}  // namespace

int main() {
    std::cout << "ready" << std::endl;
    std::string mode;
    int count = 0;
    while (std::cin >> mode >> count) {
        if (mode == "keep") keep_items(count);
        if (mode == "deep") keep_deep(count);
        if (mode == "some") keep_some(count);
        if (mode == "release") kept.clear();
        if (mode == "make") make_and_release(count);
        if (mode == "fail") fail(count);
        if (mode == "handles") handles(count);
        if (mode == "drop") drop(count);
        if (mode == "misuse") misuse();
        if (mode == "threads") in_threads(count);
        if (mode == "hot") hot(count);
        if (mode == "slow") slow_work(count);
        std::cout << mode << std::endl;
    }
}
