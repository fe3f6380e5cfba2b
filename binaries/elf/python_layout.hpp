// Finds where a CPython keeps what its threads run, from the file that contains the interpreter:
// offsets in versions 3.11 and 3.12 are constants, and 3.13 describes itself (_Py_DebugOffsets,
// https://github.com/python/cpython/blob/3.13/Include/internal/pycore_runtime.h).
#pragma once

#include <string_view>

#include "binaries/elf/elf_image.hpp"
#include "bpf/python.h"
#include "core/result.hpp"

namespace lagtrap::binaries {

// `runtime` and `code_type` are relative to where the file's code would be at file offset 0.
// ErrorKind::NotFound if the file contains no interpreter, Unsupported for other versions and
// builds without the GIL, Invalid if it is damaged, TooLarge.
[[nodiscard]] Result<lagtrap_python> find_python_layout(const ElfImage& image);

// True for names of files that may contain an interpreter of a supported version
// ("libpython3.11.so.1.0").
[[nodiscard]] bool may_be_python(std::string_view path);

}  // namespace lagtrap::binaries
