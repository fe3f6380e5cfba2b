// Functions that are inlined into one another, three deep, from a header that two units share.
#pragma once

namespace planted {

struct Account {
    long balance = 0;
    long history[16] = {};

    [[gnu::always_inline]] void note(int slot, long change) {
        history[slot & 15] ^= change * 31 + balance;
        balance += change;
    }
};

template <typename Number>
[[gnu::always_inline]] inline Number mix(Number a, Number b) {
    Number sum = a;
    for (int round = 0; round < 3; ++round) {
        sum = sum * 31 + (b >> round);
        sum ^= sum >> 7;
    }
    return sum;
}

[[gnu::always_inline]] inline void transfer(Account& from, Account& to, long amount) {
    if (amount > 0) {
        const long fee = mix(amount, from.balance);
        from.note(1, -amount - fee);
        to.note(2, amount);
    } else {
        to.note(3, mix<long>(amount, 7));
    }
}

long settle(Account* accounts, int count);
long audit(const Account* accounts, int count);

}  // namespace planted
