# Builds the programs and libraries that the tests of binaries/ read (included by
# binaries/CMakeLists.txt).
lagtrap_unit_test(binaries LINK lagtrap_binaries)
add_dependencies(binaries_tests lagtrap-reader)
# A C++ library in several forms: as linked, stripped, with its symbols in a separate file, and with
# them embedded as .gnu_debugdata.
find_program(OBJCOPY objcopy REQUIRED)
find_program(XZ xz REQUIRED)
set(store_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/store.cpp)
set(store_folder ${CMAKE_CURRENT_BINARY_DIR}/store)
add_custom_command(OUTPUT ${store_folder}/libstore.so ${store_folder}/libstore.stripped.so
                          ${store_folder}/libstore.debug ${store_folder}/libstore.mini.so
  COMMAND ${CMAKE_COMMAND} -E make_directory ${store_folder}
  COMMAND ${CMAKE_CXX_COMPILER} -O1 -fPIC -shared -Wl,--build-id=sha1 -o ${store_folder}/libstore.so ${store_source}
  COMMAND ${OBJCOPY} --only-keep-debug ${store_folder}/libstore.so ${store_folder}/libstore.debug
  COMMAND ${OBJCOPY} --strip-all ${store_folder}/libstore.so ${store_folder}/libstore.stripped.so
  COMMAND ${XZ} --force --keep ${store_folder}/libstore.debug
  COMMAND ${OBJCOPY} --add-section .gnu_debugdata=${store_folder}/libstore.debug.xz
          ${store_folder}/libstore.stripped.so ${store_folder}/libstore.mini.so
  DEPENDS ${store_source} VERBATIM)
add_custom_target(binaries_test_libraries DEPENDS ${store_folder}/libstore.so)
add_dependencies(binaries_tests binaries_test_libraries)
# Functions that return in different ways, as compiled by each compiler.
find_program(BINARIES_GXX g++ REQUIRED)
find_program(BINARIES_CLANGXX clang++ REQUIRED)
set(exits_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/exits.cpp)
set(exits_folder ${CMAKE_CURRENT_BINARY_DIR}/exits)
set(exits_libraries "")
function(lagtrap_exits_library name compiler)
  set(output ${exits_folder}/exits_${name}.so)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${exits_folder}
    COMMAND ${compiler} -fPIC -shared ${ARGN} -o ${output} ${exits_source}
    DEPENDS ${exits_source} VERBATIM)
  set(exits_libraries ${exits_libraries} ${output} PARENT_SCOPE)
endfunction()
lagtrap_exits_library(gcc_O0 ${BINARIES_GXX} -O0)
lagtrap_exits_library(gcc_O2 ${BINARIES_GXX} -O2)
lagtrap_exits_library(gcc_O2_no_plt ${BINARIES_GXX} -O2 -fno-plt)
lagtrap_exits_library(gcc_O2_cet ${BINARIES_GXX} -O2 -fcf-protection)
lagtrap_exits_library(clang_O0 ${BINARIES_CLANGXX} -O0)
lagtrap_exits_library(clang_O2 ${BINARIES_CLANGXX} -O2)
add_custom_target(binaries_exits_libraries DEPENDS ${exits_libraries})
add_dependencies(binaries_tests binaries_exits_libraries)
# Functions that call others in different ways.
find_program(BINARIES_GCC gcc REQUIRED)
find_program(BINARIES_CLANG clang REQUIRED)
set(calls_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/calls.c)
set(calls_folder ${CMAKE_CURRENT_BINARY_DIR}/calls)
set(calls_libraries "")
function(lagtrap_calls_library name compiler)
  set(output ${calls_folder}/calls_${name}.so)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${calls_folder}
    COMMAND ${compiler} -fPIC -shared ${ARGN} -o ${output} ${calls_source}
    DEPENDS ${calls_source} VERBATIM)
  set(calls_libraries ${calls_libraries} ${output} PARENT_SCOPE)
endfunction()
lagtrap_calls_library(gcc_O0 ${BINARIES_GCC} -O0 -Wl,-z,lazy)
lagtrap_calls_library(gcc_O2 ${BINARIES_GCC} -O2)
lagtrap_calls_library(gcc_O2_no_plt ${BINARIES_GCC} -O2 -fno-plt)
lagtrap_calls_library(gcc_O2_cet ${BINARIES_GCC} -O2 -fcf-protection -Wl,-z,ibtplt)
lagtrap_calls_library(clang_O0 ${BINARIES_CLANG} -O0)
lagtrap_calls_library(clang_O2 ${BINARIES_CLANG} -O2)
add_custom_target(binaries_calls_libraries DEPENDS ${calls_libraries})
add_dependencies(binaries_tests binaries_calls_libraries)
# A function and code outside it that refers to it in different ways.
set(parts_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/parts.s)
set(parts_library ${CMAKE_CURRENT_BINARY_DIR}/parts/parts.so)
add_custom_command(OUTPUT ${parts_library}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/parts
  COMMAND ${BINARIES_GCC} -shared -nostdlib -o ${parts_library} ${parts_source}
  DEPENDS ${parts_source} VERBATIM)
add_custom_target(binaries_parts_library DEPENDS ${parts_library})
add_dependencies(binaries_tests binaries_parts_library)
# Functions with different kinds of frames, with their unwind information in every place where the
# linker and compiler can put it. The tests compare with elfutils.
find_program(BINARIES_GCC gcc REQUIRED)
find_library(LIBDW dw REQUIRED)
find_library(LIBELF elf REQUIRED)
set(frames_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/frames.c)
set(frames_folder ${CMAKE_CURRENT_BINARY_DIR}/frames)
set(frames_libraries "")
function(lagtrap_frames_library name)
  set(output ${frames_folder}/frames_${name}.so)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${frames_folder}
    COMMAND ${BINARIES_GCC} -O2 -fPIC -shared ${ARGN} -o ${output} ${frames_source}
    DEPENDS ${frames_source} VERBATIM)
  set(frames_libraries ${frames_libraries} ${output} PARENT_SCOPE)
endfunction()
set(no_eh_frame -g -fno-exceptions -fno-asynchronous-unwind-tables -fno-unwind-tables)
lagtrap_frames_library(lazy -Wl,-z,lazy)
lagtrap_frames_library(ibt -Wl,-z,lazy -fcf-protection -Wl,-z,ibtplt)
lagtrap_frames_library(debug -Wl,-z,lazy ${no_eh_frame} -gz=none)
lagtrap_frames_library(debug_packed -Wl,-z,lazy ${no_eh_frame} -gz=zlib)
add_custom_target(binaries_frames_libraries DEPENDS ${frames_libraries})
add_dependencies(binaries_tests binaries_frames_libraries)
target_link_libraries(binaries_tests PRIVATE ${LIBDW} ${LIBELF} ZLIB::ZLIB)
# Functions inlined into one another, as described by each compiler; the tests of debug information
# use copies.
set(inlines_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/inlines)
set(inlines_folder ${CMAKE_CURRENT_BINARY_DIR}/inlines)
set(inlines_programs "")
function(lagtrap_inlines_program name compiler)
  set(output ${inlines_folder}/inlines_${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${inlines_folder}
    COMMAND ${compiler} -O2 -ffunction-sections -Wl,--gc-sections,--build-id=sha1 ${ARGN} -o ${output}
            ${inlines_source}/main.cpp ${inlines_source}/settle.cpp
    DEPENDS ${inlines_source}/main.cpp ${inlines_source}/settle.cpp ${inlines_source}/inlines.hpp VERBATIM)
  set(inlines_programs ${inlines_programs} ${output} PARENT_SCOPE)
endfunction()
lagtrap_inlines_program(gcc_dwarf4 ${BINARIES_GXX} -gdwarf-4)
lagtrap_inlines_program(gcc_dwarf5 ${BINARIES_GXX} -gdwarf-5)
lagtrap_inlines_program(gcc_no_pie ${BINARIES_GXX} -gdwarf-5 -no-pie)
lagtrap_inlines_program(gcc_zlib ${BINARIES_GXX} -gdwarf-5 -gz=zlib)
lagtrap_inlines_program(gcc_lines ${BINARIES_GXX} -g1)
lagtrap_inlines_program(gcc_lto ${BINARIES_GXX} -gdwarf-5 -flto)
lagtrap_inlines_program(gcc_split ${BINARIES_GXX} -gdwarf-5 -gsplit-dwarf)
lagtrap_inlines_program(clang_dwarf4 ${BINARIES_CLANGXX} -gdwarf-4)
lagtrap_inlines_program(clang_dwarf5 ${BINARIES_CLANGXX} -gdwarf-5)
lagtrap_inlines_program(gcc_other ${BINARIES_GXX} -gdwarf-5 -O1)
lagtrap_inlines_program(none ${BINARIES_GXX} -g0 -s)
add_custom_target(binaries_inlines_programs DEPENDS ${inlines_programs})
add_dependencies(binaries_tests binaries_inlines_programs)
target_link_libraries(binaries_tests PRIVATE lagtrap_debug_server)
# Built with the programs of the integration tests.
add_dependencies(binaries_tests go_programs)
# One thread-local variable for each way to access it. Clang 14 has no TLS descriptors for x86-64.
set(variable_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/thread_variable.c)
set(variable_folder ${CMAKE_CURRENT_BINARY_DIR}/thread_variable)
set(variable_files "")
function(lagtrap_variable_file name)
  set(output ${variable_folder}/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${variable_folder}
    COMMAND ${BINARIES_GCC} -O1 ${ARGN} -o ${output} ${variable_source}
    DEPENDS ${variable_source} VERBATIM)
  set(variable_files ${variable_files} ${output} PARENT_SCOPE)
endfunction()
lagtrap_variable_file(program -fPIE -pie -Wl,--export-dynamic)
lagtrap_variable_file(program_fixed -no-pie)
lagtrap_variable_file(program_static -static)
lagtrap_variable_file(program_static_pie -static-pie)
lagtrap_variable_file(general.so -fPIC -shared)
lagtrap_variable_file(general_symbolic.so -fPIC -shared -Wl,-Bsymbolic)
lagtrap_variable_file(descriptor.so -fPIC -shared -mtls-dialect=gnu2)
lagtrap_variable_file(descriptor_symbolic.so -fPIC -shared -mtls-dialect=gnu2 -Wl,-Bsymbolic)
lagtrap_variable_file(initial.so -fPIC -shared -ftls-model=initial-exec)
add_custom_target(binaries_variable_files DEPENDS ${variable_files})
add_dependencies(binaries_tests binaries_variable_files)

# Libraries with the symbols of Python interpreters.
set(python_source ${PROJECT_SOURCE_DIR}/tests/data/binaries/python_runtime.c)
set(python_folder ${CMAKE_CURRENT_BINARY_DIR}/python)
set(python_files "")
function(lagtrap_python_file name)
  set(output ${python_folder}/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${python_folder}
    COMMAND ${BINARIES_GCC} -O1 -fPIC -shared ${ARGN} -o ${output} ${python_source}
    DEPENDS ${python_source} VERBATIM)
  set(python_files ${python_files} ${output} PARENT_SCOPE)
endfunction()
lagtrap_python_file(libpython3.10.so.1.0 -DVERSION=0x030a0df0)
lagtrap_python_file(libpython3.11.so.1.0 -DVERSION=0x030b02f0)
lagtrap_python_file(libpython3.12.so.1.0 -DVERSION=0x030c01f0)
lagtrap_python_file(libpython3.13.so.1.0 -DVERSION=0x030d00f0)
lagtrap_python_file(libpython3.13t.so.1.0 -DVERSION=0x030d00f0 -DFREE_THREADED=1)
lagtrap_python_file(libpython3.13_impossible.so -DVERSION=0x030d00f0 -DOWNER_OFFSET=80)
add_custom_target(binaries_python_files DEPENDS ${python_files})
add_dependencies(binaries_tests binaries_python_files)
