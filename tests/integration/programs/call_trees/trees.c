/* No exceptions pass here, so the kernel's return probes may be used on these functions. */
#include "trees.h"

int main(void) { return serve(run_common); }
