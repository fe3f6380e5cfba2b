// A server with symbols and a loop: for each connection, an order, it finds the stock and computes
// the price. Prints its port.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

volatile unsigned long state = 1;

__attribute__((noinline)) void find_stock(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; ++i) state = state * 2862933555777941757UL + i;
}

__attribute__((noinline)) void compute_price(unsigned long rounds) {
    for (unsigned long i = 0; i < rounds; ++i) state = state * 6364136223846793005UL + i;
}

__attribute__((noinline)) void serve_order(int connection) {
    char text[64] = {};
    if (read(connection, text, sizeof text - 1) > 0) {
        const unsigned long rounds =
            100'000UL * (static_cast<unsigned long>(std::atoi(text)) % 10 + 1);
        find_stock(rounds);
        compute_price(rounds);
        if (write(connection, "ok\n", 3) != 3) std::perror("write");
    }
    close(connection);
}

__attribute__((noinline)) void wait_for_orders(int listener) {
    for (;;) {
        pollfd ready{listener, POLLIN, 0};
        if (poll(&ready, 1, -1) == 1) serve_order(accept(listener, nullptr, nullptr));
    }
}

}  // namespace

int main() {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        listen(listener, 64) != 0)
        return 1;
    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    std::printf("%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    wait_for_orders(listener);
}
