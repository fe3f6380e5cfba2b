/* Every marker of C, each in a function of its own, so that a test finds it by the function. */
#include "markers/lagtrap.h"

unsigned long long expensive_calls;
unsigned long long expensive(void);
unsigned long long expensive(void) { return ++expensive_calls; }

void mark_begin(void);
void mark_begin(void) { LAGTRAP_BEGIN("frame"); }
void mark_stage(void);
void mark_stage(void) { LAGTRAP_STAGE("frame", "decode-2"); }
void mark_end(void);
void mark_end(void) { LAGTRAP_END("frame"); }

void mark_begin_key(unsigned id);
void mark_begin_key(unsigned id) { LAGTRAP_BEGIN_KEY("page-load", id); }
void mark_begin_at(unsigned long long begin_ns);
void mark_begin_at(unsigned long long begin_ns) { LAGTRAP_BEGIN_AT("page-load", begin_ns); }
void mark_begin_key_at(const void* object);
void mark_begin_key_at(const void* object) {
    LAGTRAP_BEGIN_KEY_AT("page-load", object, lagtrap_now_ns());
}
void mark_stage_key(void);
void mark_stage_key(void) { LAGTRAP_STAGE_KEY("page-load", "parse", 42); }
void mark_end_key(void);
void mark_end_key(void) {
    if (LAGTRAP_ARMED("page-load")) expensive();
    LAGTRAP_END_KEY("page-load", expensive());
}
