// Whether this is a build with AddressSanitizer or ThreadSanitizer, whose shadow memory no limit of address space allows.
#pragma once

// GCC says so by macros, clang by features.
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
