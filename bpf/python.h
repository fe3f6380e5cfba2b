/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Python functions in stacks, and where a CPython keeps what its threads run:
 * Include/internal/pycore_frame.h, pycore_runtime.h and Include/cpython/pystate.h of versions 3.11
 * to 3.13. User space finds it in the interpreter's file (binaries/elf/python_layout.hpp);
 * python_frames.bpf.h reads it.
 */
#ifndef LAGTRAP_BPF_PYTHON_H
#define LAGTRAP_BPF_PYTHON_H

#include "bpf/records.h"

/* A Python function among the frames of a stack: this | address of its code object. */
#define LAGTRAP_PYTHON_FRAME (1ULL << 62)
#define LAGTRAP_PYTHON_CODE ((1ULL << 56) - 1)
/* False for addresses of the kernel's half, such as the vsyscall page. */
#define LAGTRAP_IS_PYTHON_FRAME(frame) (((frame) & ~LAGTRAP_PYTHON_CODE) == LAGTRAP_PYTHON_FRAME)

#define LAGTRAP_PYTHON_NAME_BYTES 128
#define LAGTRAP_PYTHON_PATH_BYTES 256

/* A Python function in stacks, as its process describes it, with the first of these. Texts have
 * characters of 1 (Latin-1), 2 or 4 bytes (little-endian). */
struct lagtrap_python_code {
    struct lagtrap_record header;
    __u64 code; /* address of the code object */
    __u32 pid;
    __u32 line;       /* its first; 0 or less (as signed): unknown */
    __u16 name_bytes; /* of `name`: the qualified name, or its beginning */
    __u16 path_bytes; /* of `path`: the file as Python knows it, or the end of it */
    __u8 name_character_bytes;
    __u8 path_character_bytes;
    __u8 padding[2];
    char name[LAGTRAP_PYTHON_NAME_BYTES];
    char path[LAGTRAP_PYTHON_PATH_BYTES];
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_python_code) == 424, "layout of Python functions");

#define LAGTRAP_PYTHON_PROCESSES 4096

/* Offsets are in bytes. */
struct lagtrap_python {
    __u64 runtime;        /* address of _PyRuntime */
    __u64 code_type;      /* address of PyCode_Type */
    __u64 next_search_ns; /* the programs' own: no earlier search for a thread's state */
    __u16 interpreters;   /* in the runtime: its first interpreter */
    __u16 threads;        /* in an interpreter: the state of its first thread */
    __u16 next_thread;    /* in a thread's state, as the next two */
    __u16 thread_ident;   /* pthread_self() */
    __u16 thread_frame;   /* its innermost frame, or its innermost call of the interpreter */
    __u16 call_frame;     /* in a call of the interpreter, if there are such: its innermost frame */
    __u16 call_previous;
    __u16 frame_code; /* in a frame, as the next two */
    __u16 frame_previous;
    __u16 frame_entry; /* a byte: see the next flags */
    __u16 code_name;   /* in a code object, as the next two */
    __u16 code_path;
    __u16 code_line;
    __u16 ascii_text; /* in a string: its text, if it is in ASCII */
    __u16 other_text;
    __u8 has_calls;     /* 1: each call of the interpreter has an object on the thread's stack */
    __u8 has_own_entry; /* 1: a call begins with a frame that is no function, on the thread's
                           stack; 0: the first function's frame is marked */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_python) == 56, "layout of Python's places");

#endif
