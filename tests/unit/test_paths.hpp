// Where tests find files that are not compiled in.
#pragma once

#include <string>

namespace lagtrap {

[[nodiscard]] std::string source_folder();
[[nodiscard]] std::string build_folder();
[[nodiscard]] std::string test_data_folder();  // tests/data
[[nodiscard]] std::string test_python();       // the Python interpreter

}  // namespace lagtrap
