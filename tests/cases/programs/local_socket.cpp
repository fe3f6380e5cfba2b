// A request over a local socket to a thread of the same program, which computes a ranking for a
// long time.
#include <sys/socket.h>

#include <thread>

#include "program.hpp"

namespace {

PLANTED void rank_profiles(bool many) {
    if (many) cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

void run_ranking(int connection) {
    cases::name_thread("ranking");
    char question = 0;
    while (::recv(connection, &question, 1, 0) == 1) {
        rank_profiles(question == 'm');
        if (::send(connection, &question, 1, 0) != 1) break;
    }
}

PLANTED void fetch_profile(int connection, bool many) {
    char answer = 0;
    if (::send(connection, many ? "m" : "o", 1, 0) != 1) cases::give_up("send");
    if (::recv(connection, &answer, 1, 0) != 1) cases::give_up("recv");
}

}  // namespace

int main() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) cases::give_up("socketpair");
    std::thread ranking(run_ranking, ends[1]);
    const int status = cases::serve([&ends](bool slow) { fetch_profile(ends[0], slow); });
    ::close(ends[0]);
    ranking.join();
    return status;
}
