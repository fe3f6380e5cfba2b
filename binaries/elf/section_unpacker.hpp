// Unpacks compressed sections (SHF_COMPRESSED of the ELF gABI): zlib and zstd. Internal to
// binaries/.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::binaries {

// Returns the next bytes of the packed data; empty at the end.
using PackedSource = std::function<Result<std::string>()>;

// Unpacks all of `source` into exactly `size` bytes at `into`. `type` is ch_type of the section's
// header. ErrorKind::Invalid if it is damaged or has another size; Unsupported for another type;
// errors of the source.
[[nodiscard]] Status unpack_section(std::uint32_t type, const PackedSource& source, char* into,
                                    std::uint64_t size);

}  // namespace lagtrap::binaries
