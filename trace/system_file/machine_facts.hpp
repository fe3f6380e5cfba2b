// Collects the system file's facts about the machine.
#pragma once

#include <filesystem>

#include "sandbox/machine_root.hpp"
#include "trace/system_file/system_file.hpp"

namespace lagtrap::trace {

// Sets host, machine id (hashed), operating system, kernel, architecture, CPU model and memory.
// What cannot be read stays empty. `root` is prefixed to /etc and /proc.
void read_machine_facts(SystemFile& file, const std::filesystem::path& root = machine_root());

}  // namespace lagtrap::trace
