/* The symbols by which a CPython is recognized, and, as version 3.13 begins, where it says its
 * offsets. VERSION is that of PY_VERSION_HEX; FREE_THREADED and OWNER_OFFSET may be given. */
#include <stdint.h>

#ifndef FREE_THREADED
#define FREE_THREADED 0
#endif
#ifndef OWNER_OFFSET
#define OWNER_OFFSET 70
#endif

const unsigned long Py_Version = VERSION;
char PyCode_Type[400] = {1};

struct {
    char cookie[8];
    uint64_t version, free_threaded;
    uint64_t runtime[3], interpreter[13], thread[9], frame[6], code[10];
} _PyRuntime = {
    "xdebugpy",
    VERSION,
    FREE_THREADED,
    {0, 0, 632},
    {0, 0, 0, 7344},
    {0, 0, 8, 0, 72, 152},
    {0, 8, 0, 0, 0, OWNER_OFFSET},
    {0, 112, 120, 128, 0, 68},
};

/* Code, so that the file has a segment for it. */
int Py_IsInitialized(void);
int Py_IsInitialized(void) { return 1; }
