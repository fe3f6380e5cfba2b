// A failing request sleeps before it retries.
#include <chrono>
#include <thread>

#include "program.hpp"

namespace {

volatile int sent = 0;

PLANTED void back_off() { std::this_thread::sleep_for(std::chrono::milliseconds(400)); }

PLANTED void send_request(bool fails) {
    if (fails) back_off();
    sent = sent + 1;
}

}  // namespace

int main() {
    return cases::serve([](bool slow) { send_request(slow); });
}
