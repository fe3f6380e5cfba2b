#include "inlines.hpp"

namespace planted {

// No linkage name in GCC's debug information.
namespace {

struct Weights {
    [[gnu::noinline]] static long weigh(long value, int times) {
        long sum = value;
        while (times-- > 0) sum += mix(sum, value);
        return sum;
    }
};

}  // namespace

long settle(Account* accounts, int count) {
    for (int index = 0; index + 1 < count; ++index) {
        if (index % 3 == 0) {
            const long amount = accounts[index].balance / 3;
            transfer(accounts[index], accounts[index + 1], amount);
        }
        transfer(accounts[index + 1], accounts[index], 5 - index);
    }
    const auto shrink = [count](long value) __attribute__((noinline)) {
        return mix<long>(value, count) / 2;
    };
    return Weights::weigh(shrink(accounts[0].balance), count);
}

}  // namespace planted

// A function that the linker throws out (--gc-sections): its ranges begin at 0, where nothing may
// be named by them.
extern "C" long thrown_out(long value) { return planted::mix(value, value + 1); }
