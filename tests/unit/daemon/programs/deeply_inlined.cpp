// A function into which thirty others are inlined, each into the next.
template <int depth>
[[gnu::always_inline]] inline void inlined_function() {
    inlined_function<depth - 1>();
}

template <>
[[gnu::always_inline]] inline void inlined_function<1>() {
    asm volatile("nop; nop; nop; nop");
}

extern "C" [[gnu::noinline]] void outermost_function() { inlined_function<30>(); }

// Compilers may place main() before all other functions, but tests expect it after them.
[[gnu::section(".text")]] int main() { outermost_function(); }
