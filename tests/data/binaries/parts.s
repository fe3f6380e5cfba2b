# A function and code outside it that jumps into it, calls into it, or takes its address. The parts
# have a frame from their first instruction on; functions do not.
        .text
        .globl  parts_whole
        .type   parts_whole, @function
parts_whole:
        .cfi_startproc
        xorl    %eax, %eax
        .cfi_def_cfa_offset 16
parts_middle:
        incl    %eax
        ret
        .cfi_endproc
        .size   parts_whole, .-parts_whole

        .type   parts_jumps_back, @function
parts_jumps_back:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        nop
        .byte   0xe9
        .long   parts_middle - . - 4
        .cfi_endproc
        .size   parts_jumps_back, .-parts_jumps_back

        .type   parts_jumps_back_on_condition, @function
parts_jumps_back_on_condition:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        nop
        .byte   0x0f, 0x84
        .long   parts_middle - . - 4
        ret
        .cfi_endproc
        .size   parts_jumps_back_on_condition, .-parts_jumps_back_on_condition

        .type   parts_calls_the_middle, @function
parts_calls_the_middle:
        .cfi_startproc
        .cfi_def_cfa_offset 16
        nop
        .byte   0xe8
        .long   parts_middle - . - 4
        ret
        .cfi_endproc
        .size   parts_calls_the_middle, .-parts_calls_the_middle

        .globl  parts_function_that_jumps
        .type   parts_function_that_jumps, @function
parts_function_that_jumps:
        .cfi_startproc
        nop
        .byte   0xe9
        .long   parts_middle - . - 4
        .cfi_endproc
        .size   parts_function_that_jumps, .-parts_function_that_jumps

        .globl  parts_caller
        .type   parts_caller, @function
parts_caller:
        .cfi_startproc
        nop
        .byte   0xe8
        .long   parts_called - . - 4
        ret
        .cfi_endproc
        .size   parts_caller, .-parts_caller

        .type   parts_called, @function
parts_called:
        .cfi_startproc
        nop
        ret
        .cfi_endproc
        .size   parts_called, .-parts_called

        .type   parts_in_a_table, @function
parts_in_a_table:
        .cfi_startproc
        nop
        ret
        .cfi_endproc
        .size   parts_in_a_table, .-parts_in_a_table

        .data
        .balign 8
        .quad   parts_in_a_table
        .section .note.GNU-stack, "", @progbits
