// A library that is its own allocator, with functions that end in all kinds of jumps, and with
// probes like those of Ruby. Nobody runs it. All of it is assembly, so that compilers change
// nothing.
#if defined(__x86_64__)
asm(R"(
.macro function name
  .p2align 4
  .globl \name
  .type \name, @function
  \name:
  .cfi_startproc
.endm
.macro end name
  .cfi_endproc
  .size \name, .-\name
.endm
.macro returns name
  function \name
  mov %rdi, %rax
  ret
  end \name
.endm

// Exceptions may pass its functions, so that their exits are searched.
.section .gcc_except_table, "a", @progbits
  .byte 0

.data
out_of_memory_handler:
  .quad 0

.text
returns malloc
returns memalign
returns aligned_alloc
returns valloc
returns realloc
returns posix_memalign
returns _ZnwmRKSt9nothrow_t
returns _ZdaPv
function calloc
  lea (%rdi,%rsi), %rax
  ret
  end calloc
function free
.globl _ZdlPv
.type _ZdlPv, @function
_ZdlPv:
  xor %eax, %eax
  ret
  end free
  .size _ZdlPv, .-_ZdlPv

function allocate
allocate_here:
  test %rdi, %rdi
  je 1f
  mov %rdi, %rax
  ret
1:
  mov out_of_memory_handler(%rip), %rax
  jmp *%rax
  end allocate
function _Znwm
  mov %rdi, %rcx
  jmp allocate_here
  end _Znwm
function _Znam
  mov %rdi, %rcx
  jmp *out_of_memory_handler(%rip)
  end _Znam

function returns_plainly
returns_plainly_here:
  mov %rdi, %rax
  ret
  end returns_plainly
function jumps_to_return
jumps_to_return_here:
  mov %rdi, %rcx
  jmp returns_plainly_here
  end jumps_to_return
function jumps_twice
  mov %rsi, %rcx
  jmp jumps_to_return_here
  end jumps_twice
function jumps_if_zero
  test %rdi, %rdi
  je returns_plainly_here
  mov %rsi, %rax
  ret
  end jumps_if_zero
.skip 300, 0x90
function jumps_far_if_zero
  test %rdi, %rdi
  je returns_plainly_here
  mov %rsi, %rax
  ret
  end jumps_far_if_zero
function jumps_by_table
  mov %rdi, %rcx
  jmp returns_plainly@PLT
  end jumps_by_table
function jumps_to_others
  mov %rdi, %rcx
  jmp not_in_this_library@PLT
  end jumps_to_others
function jumps_by_pointer
  mov %rdi, %rcx
  jmp *out_of_memory_handler(%rip)
  end jumps_by_pointer
function jumps_by_register
  mov %rdi, %rcx
  jmp *%rax
  end jumps_by_register
function jumps_back
jumps_back_here:
  mov %rdi, %rcx
  jmp jumps_around_here
  end jumps_back
function jumps_around
jumps_around_here:
  mov %rsi, %rcx
  jmp jumps_back_here
  end jumps_around

.macro probe name, arguments
990:
  nop
  .pushsection .note.stapsdt, "", @note
  .balign 4
  .4byte 992f-991f, 994f-993f, 3
991:
  .asciz "stapsdt"
992:
  .balign 4
993:
  .8byte 990b
  .8byte probes_base
  .8byte 0
  .asciz "ruby"
  .asciz "\name"
  .asciz "\arguments"
994:
  .balign 4
  .popsection
.endm
.pushsection .stapsdt.base, "aG", @progbits, .stapsdt.base, comdat
.weak probes_base
.hidden probes_base
probes_base:
  .space 1
.popsection
function interpreter
  probe method__entry, "8@%rdi 8@%rsi 8@%rdx -4@%ecx"
  probe method__return, "8@%rdi 8@%rsi 8@%rdx -4@%ecx"
  probe cmethod__entry, "8@%rax 8@%rsi 8@%rdx -4@%ecx"
  probe cmethod__return, "8@%rax 8@%rsi 8@%rdx -4@%ecx"
  ret
  end interpreter
)");
#endif
