# lagtrap_bpf_object(NAME SOURCE): compiles a BPF program with clang and makes NAME.skel.h from it.
find_program(BPF_CLANG NAMES clang clang-19 clang-16 clang-14 REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip llvm-strip-19 llvm-strip-16 llvm-strip-14 REQUIRED)
find_program(BPFTOOL bpftool REQUIRED PATHS /usr/sbin /sbin)

function(lagtrap_bpf_object name source)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.bpf.o)
  set(skeleton ${CMAKE_CURRENT_BINARY_DIR}/${name}.skel.h)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  # -mcpu=v3: atomic compare-and-exchange and 32-bit jumps, in kernels since 5.12.
  # /usr/include/<triplet> holds asm/types.h, which clang's bpf target does not search by itself.
  add_custom_command(OUTPUT ${skeleton}
    COMMAND ${BPF_CLANG} -target bpf -mcpu=v3 -g -O2 -Wall -Werror -D__TARGET_ARCH_x86
            -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -I${PROJECT_SOURCE_DIR} -I/usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
            -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${object}
    COMMAND ${BPF_STRIP} -g ${object}
    COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTBEGIN, for clang-tidy: made by bpftool */" > ${skeleton}
    COMMAND ${BPFTOOL} gen skeleton ${object} name ${name}_bpf >> ${skeleton}
    COMMAND ${CMAKE_COMMAND} -E echo "/* NOLINTEND */" >> ${skeleton}
    COMMAND sed -i s/_Bool/bool/ ${skeleton}  # bpftool writes C
    DEPENDS ${source} ${headers}
    COMMENT "BPF ${source}"
    VERBATIM)
  add_custom_target(${name}_skeleton DEPENDS ${skeleton})
endfunction()
