/* Publishes what threads work for, as OpenTelemetry specifies it: process context (OTEP 4719) and
 * thread contexts (OTEP 4947). */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

struct attribute {
    unsigned char key; /* index of one of the published keys */
    const char* value;
};

/* The attributes' names. Returns 0 if that worked. Call it once. */
int publish_keys(const char* const* keys, int count);
/* The calling thread works for this span; ids of 16 and 8 bytes. */
void attach_context(const unsigned char* trace_id, const unsigned char* span_id,
                    const struct attribute* attributes, int count);
/* It publishes the record at this address, whatever it is. */
void attach_anything(void* record);
void detach_context(void);
/* Where the thread has its pointer to the record. */
const void* own_context_place(void);

#ifdef __cplusplus
}
#endif
