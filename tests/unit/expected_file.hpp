// Compares a text with a file of tests/data. LAGTRAP_UPDATE_EXPECTED=1 rewrites the file (and
// fails); read it before committing.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace lagtrap {

inline void expect_text_of_file(const std::filesystem::path& expected, const std::string& found) {
    if (std::getenv("LAGTRAP_UPDATE_EXPECTED")) {
        std::ofstream(expected, std::ios::binary) << found;
        FAIL() << "wrote " << expected;
    }
    std::ifstream file(expected, std::ios::binary);
    EXPECT_EQ(found, std::string(std::istreambuf_iterator<char>(file), {})) << expected;
}

}  // namespace lagtrap
