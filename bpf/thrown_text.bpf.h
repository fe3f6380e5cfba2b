/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The text of a thrown C++ exception.
 */
#ifndef LAGTRAP_BPF_THROWN_TEXT_BPF_H
#define LAGTRAP_BPF_THROWN_TEXT_BPF_H

#include "bpf/kernel.bpf.h"

/* Itanium C++ ABI: a type's name is the second word of its type_info; its only base is the
 * third. */
#define TYPE_NAME 8
#define TYPE_BASE 16
#define MOST_BASES 6

/* True for std::runtime_error and std::logic_error, whose first member is the text of
 * std::exception::what(). */
static __always_inline bool has_text(__u64 name) {
    char text[20] = {};
    if (bpf_probe_read_user_str(text, sizeof(text), (const void*)name) < 0) return false;
    const char runtime[] = "St13runtime_error", logic[] = "St11logic_error";
    bool is_runtime = true, is_logic = true;
#pragma unroll
    for (int i = 0; i < sizeof(runtime); i++) is_runtime = is_runtime && text[i] == runtime[i];
#pragma unroll
    for (int i = 0; i < sizeof(logic); i++) is_logic = is_logic && text[i] == logic[i];
    return is_runtime || is_logic;
}

#endif
