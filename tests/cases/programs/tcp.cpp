// A request over TCP to another process of this machine, which computes for a long time.
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>

#include "program.hpp"

namespace {

PLANTED void price_basket(bool large) {
    if (large) cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

[[noreturn]] void run_pricing(int listener) {
    ::prctl(PR_SET_NAME, "pricing");
    const int connection = ::accept(listener, nullptr, nullptr);
    char question = 0;
    while (::recv(connection, &question, 1, 0) == 1) {
        price_basket(question == 'l');
        if (::send(connection, &question, 1, 0) != 1) break;
    }
    ::_exit(0);
}

PLANTED void ask_for_price(int connection, bool large) {
    char answer = 0;
    if (::send(connection, large ? "l" : "s", 1, 0) != 1) cases::give_up("send");
    if (::recv(connection, &answer, 1, 0) != 1) cases::give_up("recv");
}

}  // namespace

int main() {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, generic, size) != 0 || ::listen(listener, 1) != 0 ||
        ::getsockname(listener, generic, &size) != 0)
        cases::give_up("listen");
    const pid_t pricing = ::fork();
    if (pricing < 0) cases::give_up("fork");
    if (pricing == 0) run_pricing(listener);
    const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::connect(connection, generic, size) != 0) cases::give_up("connect");
    const int status = cases::serve([connection](bool slow) { ask_for_price(connection, slow); });
    ::close(connection);
    ::waitpid(pricing, nullptr, 0);
    return status;
}
