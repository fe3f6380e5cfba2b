#include "tests/unit/test_paths.hpp"

namespace lagtrap {

std::string source_folder() { return LAGTRAP_SOURCE_DIR; }

std::string build_folder() { return LAGTRAP_BINARY_DIR; }

std::string test_data_folder() { return source_folder() + "/tests/data"; }

std::string test_python() { return LAGTRAP_TEST_PYTHON; }

}  // namespace lagtrap
