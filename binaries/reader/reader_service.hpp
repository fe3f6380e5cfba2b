// The side of lagtrap-reader: answers requests until the socket ends (file_reader.hpp).
#pragma once

namespace lagtrap::binaries {

// Confines this process for good, then serves reader_socket. The exit status: 0 when the other side is gone, 4 if the
// process could not be confined.
[[nodiscard]] int run_reader(int nice);

}  // namespace lagtrap::binaries
