#include <iostream>

#include "cli/command_line.hpp"

int main(int argc, char** argv) {
    lagtrap::cli::Console console{std::cout, std::cerr, lagtrap::cli::Paint(lagtrap::cli::wants_colours())};
    return lagtrap::cli::run_command_line(argc, argv, console);
}
