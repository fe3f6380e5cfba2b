/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
 *
 * The trace id that a begin marker carries as text: kept with the open run, reported only for
 * delays.
 */
#ifndef LAGTRAP_BPF_TRACE_TEXT_BPF_H
#define LAGTRAP_BPF_TRACE_TEXT_BPF_H

#include "bpf/event_monitor.h"
#include "bpf/kernel.bpf.h"
#include "bpf/run_times.bpf.h"

/* Global, so that the verifier checks each of these once. */
__noinline int read_trace_text(struct lagtrap_slot* slot, __u64 address) {
    if (!slot) return 0;
    slot->trace_text_bytes = 0;
    if (address)
        slot->trace_text_bytes = bpf_probe_read_user_str(slot->trace_text, sizeof(slot->trace_text),
                                                         (const void*)address);
    return 0;
}

/* Returns whether it was lost. */
__noinline int report_trace_text(struct lagtrap_slot* slot, __u64 now_ns) {
    if (!slot) return 0;
    struct lagtrap_trace_text* reported = bpf_ringbuf_reserve(&recorded_runs, sizeof(*reported), 0);
    if (!reported) return 1;
    reported->header.size_bytes = sizeof(*reported);
    reported->header.type = LAGTRAP_RECORD_TRACE_TEXT;
    reported->header.cpu = bpf_get_smp_processor_id();
    reported->header.at_ns = now_ns;
    reported->begin_hit_ns = slot->run.begin_hit_ns;
    reported->event = slot->run.event;
    reported->begin_tid = slot->run.begin_tid;
    reported->bytes = slot->trace_text_bytes;
    reported->padding = 0;
    __builtin_memcpy(reported->text, slot->trace_text, sizeof(reported->text));
    bpf_ringbuf_submit(reported, BPF_RB_NO_WAKEUP);
    return slot->trace_text_bytes < 0;
}

#endif
