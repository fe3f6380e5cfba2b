/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Who counts as one where users share something, as a number. A user of the machine is its uid, a container that root has made
 * is its namespace's inode number, and nobody but the machine's own root is 0. The kernel numbers namespaces from
 * 0xF0000000 on (PROC_DYNAMIC_FIRST, fs/proc/generic.c).
 */
#ifndef LAGTRAP_BPF_PARTY_H
#define LAGTRAP_BPF_PARTY_H

#define LAGTRAP_PARTY_FIRST_NAMESPACE 0xF0000000U
/* All uids that are as high as numbers of namespaces. */
#define LAGTRAP_PARTY_UNKNOWN 0xFFFFFFFEU

#endif
