#include <cstdio>
#include <span>
#include <string_view>

#include "modes.hpp"

int main(int count, char** arguments) {
    const std::string_view wanted = count > 1 ? arguments[1] : "";
    for (const auto modes : {hostile::run_modes(), hostile::attach_modes(),
                             hostile::process_modes(), hostile::namespace_modes()})
        for (const auto& mode : modes)
            if (mode.name == wanted) return mode.run(std::span(arguments + 2, arguments + count));
    std::fprintf(stderr, "usage: hostile_neighbour MODE [ARGUMENT...]\nmodes:");
    for (const auto modes : {hostile::run_modes(), hostile::attach_modes(),
                             hostile::process_modes(), hostile::namespace_modes()})
        for (const auto& mode : modes)
            std::fprintf(stderr, " %.*s", static_cast<int>(mode.name.size()), mode.name.data());
    std::fprintf(stderr, "\n");
    return 2;
}
