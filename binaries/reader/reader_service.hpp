// The service of lagtrap-reader: answers requests until the socket is closed (file_reader.hpp).
#pragma once

namespace lagtrap::binaries {

// Confines this process permanently, then serves reader_socket. Returns the exit status: 0 when the
// other side has closed it, 4 if the process could not be confined.
[[nodiscard]] int run_reader(int nice);

}  // namespace lagtrap::binaries
