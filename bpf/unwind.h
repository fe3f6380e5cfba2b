/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Unwind tables and address spaces, in the form that the BPF stack walk reads. Both are in a
 * store of pages: regions of 4 MiB, each an array map also mapped by user space, created on
 * demand. Pages in use never change: new content goes to free pages, then the entry that refers
 * to it changes; freed pages rest longer than any walk takes before they are reused.
 *
 * A table tells, for every instruction of one file, how to find the caller's frame. It consists
 * of pages of 4096 bytes; positions are relative to its first page, so it is valid wherever it
 * is stored:
 *
 *   index pages   one struct lagtrap_unwind_bucket per 1024 bytes of code, 512 in a page
 *   rule pages    one struct lagtrap_unwind_rule per distinct rule, 512 in a page
 *   row pages     one __u32 per change of the rule, 1024 in a page; a bucket's rows share a page
 *
 * A row is (offset in its bucket) << LAGTRAP_UNWIND_RULE_BITS | number of the rule, which
 * applies up to the next row. A bucket's rows ascend; the first has offset 0. A bucket without
 * rows is a gap.
 */
#ifndef LAGTRAP_BPF_UNWIND_H
#define LAGTRAP_BPF_UNWIND_H

#include "bpf/records.h"

#define LAGTRAP_UNWIND_PAGE_BYTES 4096
#define LAGTRAP_UNWIND_BUCKET_BYTES 1024 /* of code */
#define LAGTRAP_UNWIND_RULE_BITS 22
#define LAGTRAP_UNWIND_MAX_RULES (1 << LAGTRAP_UNWIND_RULE_BITS)
#define LAGTRAP_UNWIND_ROWS_PER_PAGE 1024
#define LAGTRAP_UNWIND_BUCKETS_PER_PAGE 512
#define LAGTRAP_UNWIND_RULES_PER_PAGE 512

struct lagtrap_unwind_bucket {
    __u32 first_row; /* page of the table * LAGTRAP_UNWIND_ROWS_PER_PAGE + index in it */
    __u32 row_count; /* 0 to 1024 */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_unwind_bucket) == 8, "layout of buckets");

/* How to find the canonical frame address (CFA: the stack pointer before the call). The return
 * address is at CFA - 8. Register numbers are DWARF's for x86-64 (0 rax, 1 rdx, 2 rcx, 3 rbx, 4
 * rsi, 5 rdi, 6 rbp, 7 rsp, 8 to 15). */
enum lagtrap_unwind_kind {
    LAGTRAP_UNWIND_GAP = 0,         /* no unwind information */
    LAGTRAP_UNWIND_REGISTER = 1,    /* CFA = cfa_register + cfa_offset */
    LAGTRAP_UNWIND_DEREFERENCE = 2, /* CFA = *(cfa_register + cfa_offset) + cfa_addend */
    LAGTRAP_UNWIND_PLT = 3,         /* CFA = rsp + 8 + ((pc & 15) >= cfa_offset ? 8 : 0) */
    LAGTRAP_UNWIND_SIGNAL = 4, /* the kernel's signal frame: registers are in the ucontext at rsp */
    LAGTRAP_UNWIND_END = 5,    /* the return address is undefined: the thread's outermost frame */
    LAGTRAP_UNWIND_UNSUPPORTED = 6, /* unwind information that these kinds cannot express */
};

/* Where the caller's rbp is. */
enum lagtrap_unwind_rbp {
    LAGTRAP_UNWIND_RBP_SAME = 0,   /* still in rbp */
    LAGTRAP_UNWIND_RBP_AT_CFA = 1, /* at CFA + rbp_offset */
    LAGTRAP_UNWIND_RBP_AT_RBP = 2, /* at rbp + rbp_offset */
    LAGTRAP_UNWIND_RBP_UNDEFINED = 3,
};

struct lagtrap_unwind_rule {
    __s32 cfa_offset : 24;
    __s32 rbx_words : 8; /* caller's rbx at CFA + 8 * rbx_words; 0: still in rbx;
                            LAGTRAP_UNWIND_RBX_UNKNOWN */
    __s16 rbp_offset;
    __u8 kind_and_rbp;     /* enum lagtrap_unwind_kind | enum lagtrap_unwind_rbp << 4 */
    __u8 register_and_add; /* cfa_register | cfa_addend / 8 << 4 (0 to 15 words) */
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_unwind_rule) == 8, "layout of rules");
#define LAGTRAP_UNWIND_RBX_UNKNOWN (-128)

/* ---- The store. Page numbers count across all regions; a block is a quarter of a page. ---- */

#define LAGTRAP_UNWIND_REGION_PAGES 1024
#define LAGTRAP_UNWIND_MAX_REGIONS 1024
#define LAGTRAP_UNWIND_BLOCK_BYTES 1024
#define LAGTRAP_UNWIND_MAX_TABLES 16384
#define LAGTRAP_UNWIND_MAX_PROCESSES 65536

struct lagtrap_unwind_page {
    __u64 words[LAGTRAP_UNWIND_PAGE_BYTES / 8];
};

enum lagtrap_unwind_table_state {
    LAGTRAP_UNWIND_TABLE_MISSING = 0, /* not built yet, or its file could not be read */
    LAGTRAP_UNWIND_TABLE_READY = 1,
    LAGTRAP_UNWIND_TABLE_NO_ROOM = 2,
    LAGTRAP_UNWIND_TABLE_FRAME_POINTERS =
        3, /* the file has no unwind information, or there is no file */
};

struct lagtrap_unwind_table {
    __u32 state; /* enum lagtrap_unwind_table_state; other fields are valid only if ready */
    __u32 first_page;
    __u32 bucket_count;
    __u32 rule_page;  /* first page with rules, relative to first_page */
    __u32 page_count; /* of the whole table */
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_unwind_table) == 24, "layout of tables");

/* Tables without a file: for JIT code (frame pointers), and for files that could not be opened
 * (missing). */
#define LAGTRAP_UNWIND_RUNTIME_CODE 0
#define LAGTRAP_UNWIND_UNREADABLE_FILE 1
#define LAGTRAP_UNWIND_FIRST_FILE 2

/* An executable mapping of a process. The mappings of an address space are contiguous, sorted by
 * address, without overlaps; up to 128 in one page, more in whole pages. */
struct lagtrap_unwind_mapping {
    __u64 start;
    __u64 length;
    __u64 table_start; /* address of the table's first bucket in this process; may wrap around */
    __u32 table;
    __u32 padding;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_unwind_mapping) == 32,
                      "layout of mappings of the walk");
#define LAGTRAP_UNWIND_MAPPINGS_PER_PAGE 128
#define LAGTRAP_UNWIND_MAPPINGS_PER_BLOCK 32
#define LAGTRAP_UNWIND_MAX_MAPPINGS 512

/* A process's address space; shared by forked processes that have not changed it. */
struct lagtrap_unwind_space {
    __u32 first_block;
    __u32 mapping_count;
};
LAGTRAP_STATIC_ASSERT(sizeof(struct lagtrap_unwind_space) == 8, "layout of address spaces");

#endif
