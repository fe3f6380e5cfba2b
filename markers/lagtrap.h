/* SPDX-License-Identifier: Apache-2.0
 *
 * lagtrap.h: marks where an operation of a program begins and ends, so that lagtrapd can time it.
 *
 *     LAGTRAP_BEGIN("frame");
 *     LAGTRAP_STAGE("frame", "decode");      stage "decode" begins
 *     decode();
 *     LAGTRAP_STAGE("frame", "draw");        stage "draw" begins, and "decode" ends
 *     draw();
 *     LAGTRAP_END("frame");                  "draw" ends too
 *
 * A stage lasts from its marker to the next marker of the run. Time before the first stage belongs
 * to no stage.
 *
 * This is a single header: no library, no initialization. It works with C99 and newer, C++17 and
 * newer, gcc and clang, in programs and shared libraries, on x86-64 and arm64. While no tool
 * listens, a marker without arguments costs one nop of one byte. A marker with arguments costs one
 * comparison in memory, and its arguments are not evaluated. Markers may be hit at any time in any
 * thread, including in signal handlers.
 *
 * Event and stage are string literals of letters, digits, '_' and '-' that begin with a letter or
 * '_' (checked by the compiler in C++, and by gcc in C). Begin and end of a run are paired by
 * thread. If they are in different threads, or if a thread has several runs at once, use a key: an
 * integer or pointer, such as a request number.
 *
 *     LAGTRAP_BEGIN(event)                          the run begins
 *     LAGTRAP_STAGE(event, stage)                   a stage of the run begins
 *     LAGTRAP_END(event)                            the run ends
 *     LAGTRAP_BEGIN_KEY(event, key)                 the same, with a key
 *     LAGTRAP_STAGE_KEY(event, stage, key)
 *     LAGTRAP_END_KEY(event, key)
 *     LAGTRAP_BEGIN_AT(event, begin_ns)             the run began earlier, at this time in ns of
 *     LAGTRAP_BEGIN_KEY_AT(event, key, begin_ns)    CLOCK_MONOTONIC, so that time in a queue counts
 * too LAGTRAP_ARMED(event)                          nonzero while a tool listens to markers with
 * arguments of this event in this program or library, so that you can skip your preparations
 * otherwise lagtrap_now_ns()                              the current time, for begin_ns
 *     LAGTRAP_SCOPE(event);                         C++: begins now, and ends with the block,
 * including by an exception LAGTRAP_SCOPE_KEY(event, key);                the same, with a key,
 * which is evaluated once
 *
 * If LAGTRAP_DISABLED is defined before this header is included, or on other architectures, all
 * markers are empty.
 *
 * A marker is a USDT probe "lagtrap:EVENT__begin", "lagtrap:EVENT__stage__STAGE" or
 * "lagtrap:EVENT__end" in SystemTap's note format
 * (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation), which other tools
 * understand too. Argument 0 is the key (0: none), argument 1 is begin_ns.
 */
#ifndef LAGTRAP_H
#define LAGTRAP_H

#if !defined(LAGTRAP_DISABLED) && defined(__linux__) && defined(__LP64__) && \
    (defined(__x86_64__) || defined(__aarch64__))
#define LAGTRAP_ENABLED_ 1
#else
#define LAGTRAP_ENABLED_ 0
#endif

/* Declares clock_gettime by its symbol, because in strict C99 <time.h> declares neither it nor
 * its clock. */
#ifdef __cplusplus
extern int lagtrap_clock_gettime_(int clock, long* seconds_and_nanoseconds) noexcept
    __asm__("clock_gettime");
#define LAGTRAP_INLINE_ inline
#else
extern int lagtrap_clock_gettime_(int clock,
                                  long* seconds_and_nanoseconds) __asm__("clock_gettime");
#define LAGTRAP_INLINE_ static inline
#endif

#ifdef __cplusplus
namespace lagtrap::markers {

constexpr bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr bool is_name(const char* name) {
    if (!is_name_start(*name)) return false;
    for (; *name != '\0'; ++name)
        if (!is_name_start(*name) && !(*name >= '0' && *name <= '9') && *name != '-') return false;
    return true;
}

template <typename Number>
constexpr unsigned long long argument_value(Number number) {
    return static_cast<unsigned long long>(number);
}
template <typename Object>
unsigned long long argument_value(Object* object) {
    return reinterpret_cast<unsigned long long>(object);
}

}  // namespace lagtrap::markers

#define LAGTRAP_CHECK_NAME_(name)                          \
    static_assert(::lagtrap::markers::is_name("" name ""), \
                  "a name of lagtrap has letters, digits, _ and -, and begins with a letter or _")
#define LAGTRAP_VALUE_(value) ::lagtrap::markers::argument_value(value)
#else
#define LAGTRAP_VALUE_(value) ((unsigned long long)(value))
#if defined(__GNUC__) && !defined(__clang__)
#define LAGTRAP_NAME_START_ "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define LAGTRAP_CHECK_NAME_(name)                                          \
    __extension__ _Static_assert(                                          \
        __builtin_strspn("" name "", LAGTRAP_NAME_START_ "0123456789-") == \
                sizeof("" name "") - 1 &&                                  \
            __builtin_strspn("" name "", LAGTRAP_NAME_START_) > 0,         \
        "a name of lagtrap has letters, digits, _ and -, and begins with a letter or _")
#else
/* clang does not evaluate strings in C constant expressions, so only empty names are found. */
#define LAGTRAP_CHECK_NAME_(name) \
    __extension__ _Static_assert(sizeof("" name "") > 1, "a name of lagtrap is empty")
#endif
#endif

/* The current time in nanoseconds of CLOCK_MONOTONIC. */
LAGTRAP_INLINE_ __UINT64_TYPE__ lagtrap_now_ns(void) {
    long now[2] = {0, 0};
    const int clock_monotonic = 1;
    (void)lagtrap_clock_gettime_(clock_monotonic, now);
    return LAGTRAP_VALUE_(now[0]) * 1000000000ULL + LAGTRAP_VALUE_(now[1]);
}

#if LAGTRAP_ENABLED_

/* The code of a marker.
 *
 * The instruction is always the one-byte nop (x86-64). Linux 6.18 replaces a probed five-byte
 * nop by a call, which overwrites the red zone of the function around it, and refuses probes on
 * ten-byte nops.
 *
 * "?" puts the note into the function's section group, so that the linker keeps it with the copy
 * of an inline function that it keeps. __inline__ makes gcc count one instruction for inlining
 * decisions, instead of one per line. Formatted by hand, one line of assembler per line. */
/* clang-format off */
#define LAGTRAP_ASM_ __asm__ __inline__ __volatile__
#define LAGTRAP_NOTE_(name, semaphore, arguments)                           \
    "990: nop\n"                                                            \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n"                           \
    ".balign 4\n"                                                           \
    ".4byte 992f-991f, 994f-993f, 3\n"                                      \
    "991: .asciz \"stapsdt\"\n"                                             \
    "992: .balign 4\n"                                                      \
    "993: .8byte 990b\n"                                                    \
    ".8byte _.stapsdt.base\n"                                               \
    ".8byte " semaphore "\n"                                                \
    ".asciz \"lagtrap\"\n"                                                  \
    ".asciz \"" name "\"\n"                                                 \
    ".asciz \"" arguments "\"\n"                                            \
    "994: .balign 4\n"                                                      \
    ".popsection\n"                                                         \
    ".ifndef _.stapsdt.base\n"                                              \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    ".weak _.stapsdt.base\n"                                                \
    ".hidden _.stapsdt.base\n"                                              \
    "_.stapsdt.base: .space 1\n"                                            \
    ".size _.stapsdt.base, 1\n"                                             \
    ".popsection\n"                                                         \
    ".endif\n"

/* The semaphore of an event, in which the kernel counts listeners. Weak and hidden: one per
 * program or library. Each asm that uses it defines it unless the file already has it, so it
 * needs no declaration and works in inline functions and templates. Quoted because names may
 * contain '-'. Not in the function's section group, because other functions use it too. */
#define LAGTRAP_SEMAPHORE_(event) "\".lagtrap.semaphore." event "\""
#define LAGTRAP_DEFINE_SEMAPHORE_(event)               \
    ".ifndef " LAGTRAP_SEMAPHORE_(event) "\n"          \
    LAGTRAP_DEFINE_PAGE_                               \
    ".pushsection .probes,\"aw\",\"progbits\"\n"       \
    ".balign 2\n"                                      \
    ".weak " LAGTRAP_SEMAPHORE_(event) "\n"            \
    ".hidden " LAGTRAP_SEMAPHORE_(event) "\n"          \
    ".type " LAGTRAP_SEMAPHORE_(event) ",\"object\"\n" \
    ".size " LAGTRAP_SEMAPHORE_(event) ", 2\n"         \
    LAGTRAP_KEEP_PAGE_                                 \
    LAGTRAP_SEMAPHORE_(event) ": .2byte 0\n"           \
    ".popsection\n"                                    \
    ".endif\n"

/* The semaphores of a program or library start on a page of the file of their own: the kernel
 * raises a semaphore in the first writable mapping of its page, and lld lets two mappings share
 * a page. The page symbol occupies no bytes; a relocation that changes nothing keeps it from
 * --gc-sections. */
#define LAGTRAP_DEFINE_PAGE_                                              \
    ".pushsection .probes,\"awG\",\"progbits\",.lagtrap.page,comdat\n"   \
    ".ifndef .lagtrap.page\n"                                             \
    ".balign 4096\n"                                                      \
    ".weak .lagtrap.page\n"                                               \
    ".hidden .lagtrap.page\n"                                             \
    ".lagtrap.page:\n"                                                    \
    ".endif\n"                                                            \
    ".popsection\n"
#if defined(__clang__) && __clang_major__ < 12 /* its assembler rejects .reloc */
#define LAGTRAP_KEEP_PAGE_ ""
#elif defined(__x86_64__)
#define LAGTRAP_KEEP_PAGE_ ".reloc ., R_X86_64_NONE, .lagtrap.page\n"
#else
#define LAGTRAP_KEEP_PAGE_ ".reloc ., R_AARCH64_NONE, .lagtrap.page\n"
#endif

/* Sets the int `armed`. Marker arguments must be registers or constants: libbpf before 1.7 does
 * not understand addresses with an index register. */
#if defined(__x86_64__)
#define LAGTRAP_READ_SEMAPHORE_(event, armed)                                                      \
    LAGTRAP_ASM_(LAGTRAP_DEFINE_SEMAPHORE_(event)                                                  \
                 "cmpw $0, " LAGTRAP_SEMAPHORE_(event) "(%%rip)\n" : "=@ccne"(armed) : : "memory")
#define LAGTRAP_CONSTRAINT_ "nr"
#else
#define LAGTRAP_READ_SEMAPHORE_(event, armed)                                                      \
    LAGTRAP_ASM_(LAGTRAP_DEFINE_SEMAPHORE_(event)                                                  \
                 "adrp %x0, " LAGTRAP_SEMAPHORE_(event) "\n"                                       \
                 "ldrh %w0, [%x0, #:lo12:" LAGTRAP_SEMAPHORE_(event) "]\n"                         \
                 : "=r"(armed) : : "memory")
#define LAGTRAP_CONSTRAINT_ "r"
#endif

#define LAGTRAP_ARMED(event)                            \
    (__extension__({                                    \
        int lagtrap_armed_;                             \
        LAGTRAP_READ_SEMAPHORE_(event, lagtrap_armed_); \
        lagtrap_armed_;                                 \
    }))

#define LAGTRAP_MARK_(name) LAGTRAP_ASM_(LAGTRAP_NOTE_(name, "0", "") : : : "memory")

#define LAGTRAP_MARK_1_(event, name, argument)                                          \
    do {                                                                                \
        if (__builtin_expect(LAGTRAP_ARMED(event), 0))                                  \
            LAGTRAP_ASM_(LAGTRAP_NOTE_(name, LAGTRAP_SEMAPHORE_(event), "8@%0")         \
                         : : LAGTRAP_CONSTRAINT_(LAGTRAP_VALUE_(argument)) : "memory"); \
    } while (0)

#define LAGTRAP_MARK_2_(event, name, argument0, argument1)                               \
    do {                                                                                 \
        if (__builtin_expect(LAGTRAP_ARMED(event), 0))                                   \
            LAGTRAP_ASM_(LAGTRAP_NOTE_(name, LAGTRAP_SEMAPHORE_(event), "8@%0 8@%1")     \
                         : : LAGTRAP_CONSTRAINT_(LAGTRAP_VALUE_(argument0)),             \
                             LAGTRAP_CONSTRAINT_(LAGTRAP_VALUE_(argument1)) : "memory"); \
    } while (0)

/* clang-format on */
#else /* LAGTRAP_ENABLED_ */

#define LAGTRAP_ARMED(event) ((int)(sizeof("" event "") * 0))
#define LAGTRAP_MARK_(name) ((void)0)
/* Uses the argument without evaluating it, so that a variable needed only by a marker causes no
 * warning. */
#define LAGTRAP_MARK_1_(event, name, argument) ((void)sizeof(LAGTRAP_VALUE_(argument)))
#define LAGTRAP_MARK_2_(event, name, argument0, argument1) \
    ((void)(sizeof(LAGTRAP_VALUE_(argument0)) + sizeof(LAGTRAP_VALUE_(argument1))))

#endif /* LAGTRAP_ENABLED_ */

#define LAGTRAP_BEGIN(event)            \
    do {                                \
        LAGTRAP_CHECK_NAME_(event);     \
        LAGTRAP_MARK_(event "__begin"); \
    } while (0)

#define LAGTRAP_STAGE(event, stage)             \
    do {                                        \
        LAGTRAP_CHECK_NAME_(event);             \
        LAGTRAP_CHECK_NAME_(stage);             \
        LAGTRAP_MARK_(event "__stage__" stage); \
    } while (0)

#define LAGTRAP_END(event)            \
    do {                              \
        LAGTRAP_CHECK_NAME_(event);   \
        LAGTRAP_MARK_(event "__end"); \
    } while (0)

#define LAGTRAP_BEGIN_KEY(event, key)                 \
    do {                                              \
        LAGTRAP_CHECK_NAME_(event);                   \
        LAGTRAP_MARK_1_(event, event "__begin", key); \
    } while (0)

#define LAGTRAP_STAGE_KEY(event, stage, key)                  \
    do {                                                      \
        LAGTRAP_CHECK_NAME_(event);                           \
        LAGTRAP_CHECK_NAME_(stage);                           \
        LAGTRAP_MARK_1_(event, event "__stage__" stage, key); \
    } while (0)

#define LAGTRAP_END_KEY(event, key)                 \
    do {                                            \
        LAGTRAP_CHECK_NAME_(event);                 \
        LAGTRAP_MARK_1_(event, event "__end", key); \
    } while (0)

#define LAGTRAP_BEGIN_AT(event, begin_ns) LAGTRAP_BEGIN_KEY_AT(event, 0, begin_ns)

#define LAGTRAP_BEGIN_KEY_AT(event, key, begin_ns)              \
    do {                                                        \
        LAGTRAP_CHECK_NAME_(event);                             \
        LAGTRAP_MARK_2_(event, event "__begin", key, begin_ns); \
    } while (0)

#ifdef __cplusplus

#define LAGTRAP_JOIN_NAMES_(a, b) a##b
#define LAGTRAP_JOIN_NAME_(a, b) LAGTRAP_JOIN_NAMES_(a, b)

/* A local class per use, because a name in an asm cannot be a parameter. Named by line rather
 * than by counter, so that an inline function is the same in every file that includes it. */
#define LAGTRAP_SCOPE(event)                                                           \
    struct LAGTRAP_JOIN_NAME_(LagtrapScope, __LINE__) {                                \
        __attribute__((always_inline)) ~LAGTRAP_JOIN_NAME_(LagtrapScope, __LINE__)() { \
            LAGTRAP_END(event);                                                        \
        }                                                                              \
    } LAGTRAP_JOIN_NAME_(lagtrap_scope_, __LINE__);                                    \
    LAGTRAP_BEGIN(event)

/* A run that began while nobody listened must not end either. */
#define LAGTRAP_SCOPE_KEY(event, key_value)                                            \
    struct LAGTRAP_JOIN_NAME_(LagtrapScope, __LINE__) {                                \
        bool begun = false;                                                            \
        unsigned long long key = 0;                                                    \
        __attribute__((always_inline)) ~LAGTRAP_JOIN_NAME_(LagtrapScope, __LINE__)() { \
            if (__builtin_expect(begun, 0)) LAGTRAP_END_KEY(event, key);               \
        }                                                                              \
    } LAGTRAP_JOIN_NAME_(lagtrap_scope_, __LINE__);                                    \
    do {                                                                               \
        auto& lagtrap_scope_here_ = LAGTRAP_JOIN_NAME_(lagtrap_scope_, __LINE__);      \
        if (!__builtin_expect(LAGTRAP_ARMED(event), 0)) break;                         \
        lagtrap_scope_here_.begun = true;                                              \
        lagtrap_scope_here_.key = LAGTRAP_VALUE_(key_value);                           \
        LAGTRAP_BEGIN_KEY(event, lagtrap_scope_here_.key);                             \
    } while (0)

#endif /* __cplusplus */

#endif /* LAGTRAP_H */
