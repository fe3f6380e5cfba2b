// Compressed sections (SHF_COMPRESSED of the ELF gABI): zlib and zstd. Used by the other files of this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.hpp"

namespace lagtrap::binaries {

// Gives the next bytes of the packed data; empty: there are no more.
using PackedSource = std::function<Result<std::string>()>;

// Unpacks all of `source` into exactly `size` bytes at `into`. `type` is ch_type of the section's header.
// ErrorKind::Invalid: damaged, or another size; Unsupported: another type; and the source's own errors.
[[nodiscard]] Status unpack_section(std::uint32_t type, const PackedSource& source, char* into, std::uint64_t size);

}  // namespace lagtrap::binaries
