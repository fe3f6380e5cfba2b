/* A library with distinctive frames, built under several names: linked, opened at run time, and
 * reopened repeatedly. */
#pragma once

#define DEEP_JOIN(name, rest) deep_##name##_##rest
#define DEEP_NAME(name, rest) DEEP_JOIN(name, rest)

#define DEEP_DECLARE(name)                               \
    void DEEP_NAME(name, enter)(int frames, int rounds); \
    void DEEP_NAME(name, tiny)(int value)

#ifdef __cplusplus
extern "C" {
#endif
DEEP_DECLARE(linked);
DEEP_DECLARE(frames);
#ifdef __cplusplus
}
#endif
