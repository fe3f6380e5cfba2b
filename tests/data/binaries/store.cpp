// A library whose functions the tests look up: overloads, a template, a static function, a
// constructor.
namespace ns {

struct Store {
    Store();
    int get(int key) const;
    int get(const char* name) const;
    int get_all() const;
    int value = 0;
};

__attribute__((noinline)) Store::Store() : value(1) {}
__attribute__((noinline)) int Store::get(int key) const { return key + value; }
__attribute__((noinline)) int Store::get(const char* name) const { return name[0] + value; }
__attribute__((noinline)) int Store::get_all() const { return value; }

template <typename T>
__attribute__((noinline)) T twice(T number) {
    return number + number;
}
template int twice<int>(int);

}  // namespace ns

static __attribute__((noinline, used)) int hidden_helper(int number) { return number * 3; }

extern "C" int plain_function(int number) { return hidden_helper(number) + ns::twice(number); }
