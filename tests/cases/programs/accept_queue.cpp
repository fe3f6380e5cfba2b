// A connection to a local socket waits, because its accept queue is full: the server computes a
// report before it accepts the next one.
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <vector>

#include "program.hpp"

namespace {

constexpr int queue_length = 1;  // the kernel lets one more connection in

int open_socket() {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket < 0) cases::give_up("socket");
    return socket;
}

// In the abstract namespace, so that no file remains.
sockaddr_un address() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "lagtrap-case-" + std::to_string(::getpid());
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return address;
}

PLANTED void compute_report() { cases::compute_ms(500); }

// Accepts a connection for each letter; before it does so for 'r', it computes.
void serve_connections(int listener, int orders, int done) {
    ::prctl(PR_SET_NAME, "report-server");
    char order = 0;
    while (::read(orders, &order, 1) == 1) {
        if (order == 'r') compute_report();
        const int connection = ::accept(listener, nullptr, nullptr);
        if (connection < 0) break;
        ::close(connection);
        if (order == 'n' && ::write(done, &order, 1) != 1) break;
    }
    ::_exit(0);
}

PLANTED int connect_to_server(const sockaddr_un& to) {
    const int connection = open_socket();
    if (::connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        cases::give_up("connect");
    return connection;
}

PLANTED void fetch_report(const sockaddr_un& to) {
    ::close(connect_to_server(to));
    __asm__ __volatile__("" ::: "memory");
}

void order(int orders, const std::string& letters) {
    if (::write(orders, letters.data(), letters.size()) != static_cast<ssize_t>(letters.size()))
        cases::give_up("write");
}

}  // namespace

int main() {
    const sockaddr_un to = address();
    const int listener = open_socket();
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        cases::give_up("bind");
    if (::listen(listener, queue_length) != 0) cases::give_up("listen");
    int orders[2], done[2];
    if (::pipe(orders) != 0 || ::pipe(done) != 0) cases::give_up("pipe");
    const pid_t server = ::fork();
    if (server < 0) cases::give_up("fork");
    if (server == 0) {
        ::close(orders[1]);
        serve_connections(listener, orders[0], done[1]);
    }
    ::close(listener);
    const int status = cases::serve([&](bool slow) {
        if (!slow) {
            fetch_report(to);
            order(orders[1], "n");
            char letter = 0;
            if (::read(done[0], &letter, 1) != 1) cases::give_up("read");
            return;
        }
        std::vector<int> others;
        for (int number = 0; number <= queue_length; ++number)
            others.push_back(connect_to_server(to));
        order(orders[1], "raa");
        fetch_report(to);
        for (const int other : others) ::close(other);
    });
    ::close(orders[1]);
    ::waitpid(server, nullptr, 0);
    return status;
}
