#include <unistd.h>

#include <iostream>

#include "cli/command_line.hpp"
#include "cli/console/memory_limit.hpp"

int main(int argc, char** argv) {
    lagtrap::cli::limit_memory();
    lagtrap::cli::Console console{std::cout, std::cerr,
                                  lagtrap::cli::Paint(lagtrap::cli::wants_colours()),
                                  lagtrap::cli::screen_columns(), isatty(STDOUT_FILENO) == 1};
    return lagtrap::cli::run_command_line(argc, argv, console);
}
