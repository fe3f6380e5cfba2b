#include "tests/unit/trace/planted_program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "binaries/elf/program_file.hpp"
#include "tests/unit/test_paths.hpp"

namespace lagtrap::trace {

PlantedProgram::PlantedProgram(const std::filesystem::path& program) {
    int input[2], output[2];
    if (::pipe2(input, O_CLOEXEC) != 0 || ::pipe2(output, O_CLOEXEC) != 0)
        throw std::runtime_error("pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(input[0], STDIN_FILENO);
        ::dup2(output[1], STDOUT_FILENO);
        ::execl(program.c_str(), program.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(input[0]);
    ::close(output[1]);
    input_ = input[1];
    std::FILE* said = ::fdopen(output[0], "r");
    const int count = std::fscanf(said, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &place_,
                                  &start_, &end_, &offset_);
    std::fclose(said);
    if (count != 4)
        throw std::runtime_error(program.string() + " did not say where its functions are");
}

PlantedProgram::~PlantedProgram() { end(); }

void PlantedProgram::end() {
    if (input_ < 0) return;
    ::close(std::exchange(input_, -1));
    ::waitpid(pid_, nullptr, 0);
}

void PlantedProgram::record(SyntheticCapture& capture, const std::string& path,
                            const std::string& build_id) const {
    capture.thread(pid(), pid(), "planted");
    capture.mapping(pid(), 1, start_, end_ - start_, offset_, path, build_id);
    capture.user_stack(2, 11, pid(), {place_}, LAGTRAP_STACK_END_COMPLETE);
    capture.sample(3, 0, pid(), pid(), 0, 11);
}

std::string raw_build_id(const std::filesystem::path& program) {
    const auto file = binaries::ProgramFile::open(program);
    if (!file) throw std::runtime_error(file.error().message);
    const std::string digits = file->build_id();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    return bytes;
}

std::uint32_t line_of(const std::string& which) {
    std::ifstream source(source_folder() + "/tests/unit/trace/programs/inlined.cpp");
    std::uint32_t number = 0;
    for (std::string line; std::getline(source, line);) {
        ++number;
        if (line.ends_with("// line of the " + which)) return number;
    }
    throw std::runtime_error("no line of the " + which);
}

}  // namespace lagtrap::trace
