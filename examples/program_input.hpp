// Command-line options and the "ready" handshake of the example programs.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

namespace examples {

// "--name value" and "--flag" arguments of the command line. Exits with an error on an unknown
// option.
class Options {
  public:
    // `known` maps each option to its default; a default of "no" makes it a flag.
    Options(int count, char** arguments, std::map<std::string, std::string> known)
        : values_(std::move(known)) {
        for (int index = 1; index < count; ++index) {
            const std::string name = arguments[index];
            const auto found = values_.find(name);
            if (found == values_.end()) stop("unknown option " + name);
            if (found->second == "no") {
                found->second = "yes";
            } else if (index + 1 < count) {
                found->second = arguments[++index];
            } else {
                stop(name + " needs a value");
            }
        }
    }

    [[nodiscard]] std::string text(const std::string& name) const { return values_.at(name); }
    [[nodiscard]] bool flag(const std::string& name) const { return values_.at(name) == "yes"; }
    // A whole number from `least` to 10^12; exits with an error if the value is not one.
    [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t least = 0) const {
        const std::string& value = values_.at(name);
        char* end = nullptr;
        const unsigned long long number = std::strtoull(value.c_str(), &end, 10);
        if (value.empty() || value[0] == '-' || *end != '\0' || number < least ||
            number > 1'000'000'000'000ULL)
            stop(name + " is \"" + value + "\"; expected a whole number, at least " +
                 std::to_string(least));
        return number;
    }

    [[noreturn]] void stop(const std::string& why) const {
        std::fprintf(stderr, "%s\noptions:", why.c_str());
        for (const auto& [name, value] : values_)
            std::fprintf(stderr, " %s%s", name.c_str(),
                         value == "no" ? "" : (" (" + value + ")").c_str());
        std::fprintf(stderr, "\n");
        std::exit(2);
    }

  private:
    std::map<std::string, std::string> values_;
};

// Prints "ready" and reads one line of standard input, and nothing after it. Returns false if the
// input ends first.
inline bool wait_for_go() {
    std::printf("ready\n");
    std::fflush(stdout);
    char byte = 0;
    while (::read(STDIN_FILENO, &byte, 1) == 1)
        if (byte == '\n') return true;
    return false;
}

}  // namespace examples
