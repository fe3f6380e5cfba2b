"""Fills carts: each line gives the number, and for how many milliseconds each checkout sleeps."""

import sys
import time


class Cart:
    def __init__(self):
        self.sum = 0

    def add(self, price):
        self.sum += self.discounted(price)

    def discounted(self, price):
        return price - price // 10

    def checkout(self, sleep_ms):
        time.sleep(sleep_ms / 1000)
        return self.sum


def fill(sleep_ms):
    cart = Cart()
    for price in range(1, 21):
        cart.add(price)
    return cart.checkout(sleep_ms)


print("ready", flush=True)
for line in sys.stdin:
    carts, milliseconds = map(int, line.split())
    print(sum(fill(milliseconds) for _ in range(carts)), flush=True)
