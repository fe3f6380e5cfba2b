// Requests of an unprivileged process to the one that opens files for it. The input is messages,
// each preceded by its size in two bytes. Whatever is requested, everything outside the folder must
// stay unchanged.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "core/passed_file.hpp"
#include "sandbox/file_broker.hpp"
#include "tests/fuzz/memory_file.hpp"

using namespace lagtrap;

namespace {

constexpr std::size_t messages_limit = 32;
constexpr std::string_view secret = "nobody's";

void check(bool holds) {
    if (!holds) std::abort();
}

// A folder that requests may use, next to one and a file that they may not.
struct Surroundings {
    std::filesystem::path root = "/dev/shm/lagtrap-fuzz-files-" + std::to_string(::getpid());
    std::filesystem::path own = root / "own";
    std::filesystem::path before = std::filesystem::current_path();

    Surroundings() {
        std::filesystem::remove_all(root);
        std::filesystem::create_directories(own / "below");
        for (const auto& file : {root / "secret", own / "below" / "capture-1"})
            std::ofstream(file) << secret;
        std::filesystem::create_symlink("../secret", own / "capture-link");
        std::filesystem::create_symlink("..", own / "below" / "capture-up");
        std::filesystem::current_path(own);
    }
    ~Surroundings() {
        std::filesystem::current_path(before);
        std::filesystem::remove_all(root);
    }
    Surroundings(const Surroundings&) = delete;
    Surroundings& operator=(const Surroundings&) = delete;

    void check_untouched() const {
        std::string text;
        std::ifstream(root / "secret") >> text;
        check(text == secret);
        std::size_t entries = 0;
        for (const auto& entry : std::filesystem::directory_iterator(root))
            entries += entry.exists() ? 1 : 0;
        check(entries == 2);
    }
};

// The answer to a request; a descriptor in it must be of a file below the folder.
void take_answer(int socket, const std::filesystem::path& own) {
    std::array<char, 16384> bytes;
    UniqueFd given;
    check(receive_with_file(socket, bytes.data(), bytes.size(), given, MSG_DONTWAIT) > 0);
    if (!given.valid()) return;
    const auto place =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(given.get())).native();
    check(place == own.native() || place.starts_with(own.native() + "/"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Surroundings around;
    BrokerPolicy policy;
    policy.folders = {{around.own, "capture"}};
    auto broker = FileBroker::create(std::move(policy));
    check(broker.ok());
    std::array<int, 2> sockets{};
    check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()) == 0);
    const UniqueFd asking(sockets[0]), serving(sockets[1]);
    for (std::size_t sent = 0; size >= 2 && sent < messages_limit; ++sent) {
        const std::size_t wanted = data[0] + (std::size_t{data[1]} << 8);
        const std::size_t bytes = std::min(wanted, size - 2);
        if (bytes == 0) break;
        check(::send(asking.get(), data + 2, bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes));
        if (!broker->serve(serving.get())) break;
        take_answer(asking.get(), around.own);
        data += 2 + bytes;
        size -= 2 + bytes;
    }
    around.check_untouched();
    return 0;
}
