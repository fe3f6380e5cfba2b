/* No exception passes here: the kernel's return probes may be put on these functions. */
#include "trees.h"

int main(void) { return serve(run_common); }
