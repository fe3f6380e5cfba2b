// lagtrap-reader NICE: reads programs, libraries and debug files for lagtrapd (file_reader.hpp).
// Only lagtrapd starts it, with sockets as descriptors 3 and 4. Exit status: 0 when lagtrapd no
// longer needs it, 2 for wrong usage, 4 if it could not be confined.
#include <sys/stat.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "binaries/reader/reader_service.hpp"
#include "binaries/reader/reader_wire.hpp"

int main(int argc, char** argv) {
    int nice = 0;
    struct stat facts {};
    const bool number =
        argc == 2 &&
        std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), nice).ec == std::errc();
    if (!number || ::fstat(lagtrap::binaries::reader_socket, &facts) != 0 ||
        !S_ISSOCK(facts.st_mode)) {
        std::fputs("lagtrap-reader is for internal use by lagtrapd\n", stderr);
        return 2;
    }
    return lagtrap::binaries::run_reader(nice);
}
