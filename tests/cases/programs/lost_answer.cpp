// A UDP query that is never answered: the caller waits in epoll until its own timeout.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>

#include "program.hpp"

namespace {

struct Peer {
    int server = -1;  // receives, but does not answer 'l'
    int client = -1;
    int events = -1;
};

Peer make_peer() {
    Peer peer{::socket(AF_INET, SOCK_DGRAM, 0), ::socket(AF_INET, SOCK_DGRAM, 0),
              ::epoll_create1(EPOLL_CLOEXEC)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(peer.server, generic, size) != 0 || ::getsockname(peer.server, generic, &size) != 0)
        cases::give_up("bind");
    if (::connect(peer.client, generic, size) != 0) cases::give_up("connect");
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (::epoll_ctl(peer.events, EPOLL_CTL_ADD, peer.client, &wanted) != 0)
        cases::give_up("epoll_ctl");
    return peer;
}

void answer(const Peer& peer) {
    std::array<char, 4> question{};
    sockaddr_in from{};
    socklen_t size = sizeof from;
    auto* generic = reinterpret_cast<sockaddr*>(&from);
    if (::recvfrom(peer.server, question.data(), question.size(), 0, generic, &size) < 0)
        cases::give_up("recvfrom");
    if (question[0] != 'l') ::sendto(peer.server, question.data(), 1, 0, generic, size);
}

PLANTED bool resolve_name(const Peer& peer, bool lost) {
    if (::send(peer.client, lost ? "l" : "a", 1, 0) != 1) cases::give_up("send");
    answer(peer);
    epoll_event came{};
    const bool answered = ::epoll_wait(peer.events, &came, 1, 400) == 1;
    std::array<char, 4> name{};
    if (answered && ::recv(peer.client, name.data(), name.size(), 0) < 0) cases::give_up("recv");
    return answered;
}

}  // namespace

int main() {
    const Peer peer = make_peer();
    return cases::serve([&peer](bool slow) { (void)resolve_name(peer, slow); });
}
