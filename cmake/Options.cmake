# Flags live on interface targets, so that a preset changes them in one place.
# What one work tree has compiled is of use to all others: their paths stand in nothing that is compiled.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

add_library(lagtrap_flags INTERFACE)
target_include_directories(lagtrap_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(lagtrap_flags INTERFACE -Wall -Wextra -Wshadow -Wvla
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)
# GCC warns of designated initializers too, which leave members out on purpose.
target_compile_options(lagtrap_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-missing-field-initializers>)
# What is shipped says nothing of where it was built.
target_compile_options(lagtrap_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
target_link_options(lagtrap_flags INTERFACE -Wl,--as-needed)
if(LAGTRAP_WERROR)
  target_compile_options(lagtrap_flags INTERFACE -Werror)
endif()
foreach(sanitizer ${LAGTRAP_SANITIZE})
  target_compile_options(lagtrap_flags INTERFACE -fsanitize=${sanitizer} -fno-omit-frame-pointer)
  target_link_options(lagtrap_flags INTERFACE -fsanitize=${sanitizer})
endforeach()
if(NOT LAGTRAP_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(lagtrap_flags INTERFACE
    -fstack-protector-strong -fcf-protection -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  target_link_options(lagtrap_flags INTERFACE -pie -Wl,-z,relro,-z,now)
endif()
# What is shipped touches each page of a large stack frame, so that none reaches over the guard page.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT LAGTRAP_SANITIZE)
  target_compile_options(lagtrap_flags INTERFACE -fstack-clash-protection)
endif()
add_compile_definitions(LAGTRAP_VERSION="${PROJECT_VERSION}")

# lagtrap_library(FOLDER SOURCES ... LINK ...): the library of a folder.
function(lagtrap_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  add_library(lagtrap_${name} STATIC ${arg_SOURCES})
  target_link_libraries(lagtrap_${name} PUBLIC lagtrap_flags ${arg_LINK} PRIVATE ${arg_PRIVATE_LINK})
  lagtrap_precompile_library(${name})
endfunction()

# lagtrap_rooms(FOLDER ROOMS...): a folder with a library for each of its rooms, and one name for all of them. The order is
# the direction of dependencies.
function(lagtrap_rooms name)
  add_library(lagtrap_${name} INTERFACE)
  foreach(room ${ARGN})
    add_subdirectory(${room})
    target_link_libraries(lagtrap_${name} INTERFACE lagtrap_${name}_${room})
  endforeach()
endfunction()
