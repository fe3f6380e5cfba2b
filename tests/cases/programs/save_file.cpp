// Writes a document in pieces and syncs each of them. Usage: save_file FILE
#include <fcntl.h>

#include <string>

#include "program.hpp"

namespace {

PLANTED void make_durable(int file) {
    if (::fsync(file) != 0) cases::give_up("fsync");
    __asm__ __volatile__("" ::: "memory");
}

PLANTED void save_document(int file, const std::string& piece, int pieces) {
    for (int number = 0; number < pieces; ++number) {
        if (::write(file, piece.data(), piece.size()) != static_cast<ssize_t>(piece.size()))
            cases::give_up("write");
        make_durable(file);
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return 2;
    const int file = ::open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) cases::give_up(arguments[1]);
    const std::string piece(1 << 16, 'x');
    return cases::serve([&](bool slow) { save_document(file, piece, slow ? 600 : 1); });
}
