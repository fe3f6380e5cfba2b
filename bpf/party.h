/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause
 *
 * Parties, the units that share limits, as numbers: a user of the machine is its uid, a
 * container created by root is its namespace's inode number, and 0 is only the machine's own
 * root. The kernel numbers namespaces from 0xF0000000 on (PROC_DYNAMIC_FIRST,
 * fs/proc/generic.c).
 */
#ifndef LAGTRAP_BPF_PARTY_H
#define LAGTRAP_BPF_PARTY_H

#define LAGTRAP_PARTY_FIRST_NAMESPACE 0xF0000000U
/* All uids as high as namespace numbers. */
#define LAGTRAP_PARTY_UNKNOWN 0xFFFFFFFEU

#endif
