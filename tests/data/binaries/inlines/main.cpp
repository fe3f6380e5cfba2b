#include "inlines.hpp"

namespace planted {

long audit(const Account* accounts, int count) {
    long total = 0;
    for (int index = 0; index < count; ++index) {
        Account copy = accounts[index];
        copy.note(index, total);
        try {
            if (copy.balance == 42) throw copy.balance;
            total += mix(copy.balance, copy.history[0]);
        } catch (long caught) {
            total -= mix(caught, total);
        }
    }
    return total;
}

}  // namespace planted

int main(int count, char**) {
    planted::Account accounts[8];
    for (int index = 0; index < 8; ++index) accounts[index].note(index, count * index);
    return static_cast<int>(planted::settle(accounts, 8) + planted::audit(accounts, 8)) & 1;
}
