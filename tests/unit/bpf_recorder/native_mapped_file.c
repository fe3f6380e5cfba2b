/* The program that looks at a mapping, compiled for this machine from the same file that the kernel
 * gets. */
#include <stddef.h>

#define LICENSE mapped_file_license
#include "bpf/mapped_file.bpf.c"
