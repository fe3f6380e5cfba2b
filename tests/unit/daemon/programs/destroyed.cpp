// A class that is deleted through its virtual destructor, and functions that only look like one.
#include <unistd.h>

struct Item {
    virtual ~Item();
    virtual int weight();
    virtual int whole_weight();
    int kept = 1;
};

// Compilers omit calls that change nothing but the object.
volatile int destroyed = 0;

[[gnu::noinline]] Item::~Item() { destroyed = kept; }
[[gnu::noinline]] int Item::weight() { return kept; }
int Item::whole_weight() { return Item::weight() + ::getpid(); }
