#include "publisher.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

struct record {
    unsigned char trace_id[16], span_id[8];
    volatile unsigned char valid;
    unsigned char flags;
    uint16_t attribute_bytes;
    unsigned char attributes[612];
};
_Static_assert(sizeof(struct record) == 640, "layout of records");

struct head {
    char signature[8];
    uint32_t version, payload_bytes;
    _Atomic uint64_t published_ns;
    const void* payload;
};

__attribute__((visibility("default"))) _Thread_local void* volatile otel_thread_ctx_v1;
static _Thread_local struct record own;

/* A field of a protobuf message: its number, length and content, which is shorter than 128 bytes.
 * Longer lengths take two bytes. */
static size_t put(unsigned char* to, int number, const void* content, size_t bytes) {
    to[0] = (unsigned char)(number << 3 | 2);
    to[1] = (unsigned char)((bytes & 127) | 128);
    to[2] = (unsigned char)(bytes >> 7);
    memmove(to + 3, content, bytes);
    return 3 + bytes;
}
static size_t put_text(unsigned char* to, int number, const char* text) {
    return put(to, number, text, strlen(text));
}

/* An attribute of the process context whose value is a message of `bytes`. */
static size_t put_attribute(unsigned char* to, const char* key, const void* value, size_t bytes) {
    unsigned char content[2048];
    size_t used = put_text(content, 1, key);
    used += put(content + used, 2, value, bytes);
    return put(to, 2, content, used);
}

static size_t make_payload(unsigned char* to, const char* const* keys, int count) {
    unsigned char value[1024], array[1024], item[128];
    size_t used = put_attribute(to, "threadlocal.schema_version", value,
                                put_text(value, 1, "tlsdesc_v1_dev"));
    size_t listed = 0;
    for (int i = 0; i < count; i++)
        listed += put(array + listed, 1, item, put_text(item, 1, keys[i]));
    return used + put_attribute(to + used, "threadlocal.attribute_key_map", value,
                                put(value, 5, array, listed));
}

int publish_keys(const char* const* keys, int count) {
    static unsigned char payload[4096];
    const int memory = memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0 || ftruncate(memory, 4096) != 0) return -1;
    struct head* const head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, memory, 0);
    close(memory);
    if (head == MAP_FAILED) return -1;
    madvise(head, 4096, MADV_DONTFORK);
    memcpy(head->signature, "OTEL_CTX", sizeof(head->signature));
    head->version = 2;
    head->payload_bytes = (uint32_t)make_payload(payload, keys, count);
    head->payload = payload;
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    atomic_store(&head->published_ns, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, head, 4096, "OTEL_CTX");
    return 0;
}

void attach_context(const unsigned char* trace_id, const unsigned char* span_id,
                    const struct attribute* attributes, int count) {
    otel_thread_ctx_v1 = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(own.trace_id, trace_id, sizeof(own.trace_id));
    memcpy(own.span_id, span_id, sizeof(own.span_id));
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        const size_t bytes = strlen(attributes[i].value);
        if (bytes > 255 || used + 2 + bytes > sizeof(own.attributes)) break;
        own.attributes[used] = attributes[i].key;
        own.attributes[used + 1] = (unsigned char)bytes;
        memcpy(own.attributes + used + 2, attributes[i].value, bytes);
        used += 2 + bytes;
    }
    own.attribute_bytes = (uint16_t)used;
    own.valid = 1;
    atomic_signal_fence(memory_order_seq_cst);
    otel_thread_ctx_v1 = &own;
}

void attach_anything(void* record) { otel_thread_ctx_v1 = record; }

void detach_context(void) { otel_thread_ctx_v1 = NULL; }

const void* own_context_place(void) { return (const void*)&otel_thread_ctx_v1; }
