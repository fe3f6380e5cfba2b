// A function whose name another file of the library has too.
__attribute__((noinline, used)) static int twin(int value) { return value * 5 + 2; }
