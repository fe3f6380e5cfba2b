#include "binaries/elf/program_file.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "binaries/code/return_sites.hpp"
#include "tests/fuzz/memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const lagtrap::fuzz::MemoryFile file(data, size);
    const auto program = lagtrap::binaries::ProgramFile::open(file.path());
    if (!program) return 0;
    (void)program->build_id();
    (void)program->usdt_probes();
    (void)program->exceptions_may_pass();
    const auto functions = program->functions();
    if (!functions) return 0;
    std::size_t tried = 0;
    for (const auto& function : *functions) {
        (void)lagtrap::binaries::demangle(function.name);
        if (++tried <= 16) (void)lagtrap::binaries::function_exits(*program, function);
    }
    (void)program->find_functions("main");
    return 0;
}
