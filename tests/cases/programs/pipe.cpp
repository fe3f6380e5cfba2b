// A page waits for the output of a slow filter, which is a separate process.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "program.hpp"

namespace {

struct Pipe {
    int from = -1;
    int to = -1;
};

Pipe make_pipe() {
    int ends[2];
    if (::pipe(ends) != 0) cases::give_up("pipe");
    return {ends[0], ends[1]};
}

PLANTED void filter_image(bool large) {
    if (large) cases::compute_ms(400);
    __asm__ __volatile__("" ::: "memory");
}

void run_filter(const Pipe& requests, const Pipe& images) {
    ::close(requests.to);
    ::prctl(PR_SET_NAME, "image-filter");
    char size = 0;
    while (::read(requests.from, &size, 1) == 1) {
        filter_image(size == 'l');
        if (::write(images.to, &size, 1) != 1) break;
    }
    ::_exit(0);
}

PLANTED void read_image(int images) {
    char image = 0;
    if (::read(images, &image, 1) != 1) cases::give_up("read");
}

PLANTED void render_page(int requests, int images, bool large) {
    if (::write(requests, large ? "l" : "s", 1) != 1) cases::give_up("write");
    read_image(images);
    __asm__ __volatile__("" ::: "memory");
}

}  // namespace

int main() {
    const Pipe requests = make_pipe();
    const Pipe images = make_pipe();
    const pid_t filter = ::fork();
    if (filter < 0) cases::give_up("fork");
    if (filter == 0) run_filter(requests, images);
    const int status =
        cases::serve([&](bool slow) { render_page(requests.to, images.from, slow); });
    ::close(requests.to);
    ::waitpid(filter, nullptr, 0);
    return status;
}
