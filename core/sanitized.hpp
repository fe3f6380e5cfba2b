// Tells builds with AddressSanitizer or ThreadSanitizer apart: their shadow memory exceeds any
// limit of address space.
#pragma once

// GCC defines macros, clang has features.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LAGTRAP_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LAGTRAP_SANITIZED 1
#endif
#endif
#ifndef LAGTRAP_SANITIZED
#define LAGTRAP_SANITIZED 0
#endif

namespace lagtrap {

inline constexpr bool is_sanitized = LAGTRAP_SANITIZED == 1;

}  // namespace lagtrap
