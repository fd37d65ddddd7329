# Choose the C++ compiler before CMake does: the system's compiler, or on Linux zig from PyPI (the package ziglang), or stop.
option(COUNTERLEAF_ZIG "Compile with zig from PyPI even if the system has a compiler" OFF)

if(CMAKE_HOST_WIN32 OR CMAKE_CXX_COMPILER)
  return()  # CMake finds Visual Studio itself, and keeps a compiler that was passed to it or found before
endif()

# CXX is a program, perhaps with arguments. scikit-build-core sets it to the compiler that built Python, which may not be installed.
separate_arguments(CXX UNIX_COMMAND "$ENV{CXX}")
list(POP_FRONT CXX program)
find_program(COUNTERLEAF_CXX_COMPILER NAMES ${program} NO_CACHE)
find_program(COUNTERLEAF_SYSTEM_COMPILER NAMES c++ g++ clang++ NO_CACHE)
if(COUNTERLEAF_CXX_COMPILER AND NOT COUNTERLEAF_ZIG)
  return()
elseif(COUNTERLEAF_SYSTEM_COMPILER AND NOT COUNTERLEAF_ZIG)
  set(CMAKE_CXX_COMPILER "${COUNTERLEAF_SYSTEM_COMPILER}")
  return()
endif()

# Before a language is enabled, find_package(Python) would get the file names of modules wrong.
if(NOT Python_EXECUTABLE)
  find_program(Python_EXECUTABLE NAMES python3 python)
endif()
execute_process(COMMAND "${Python_EXECUTABLE}" -c "
import pathlib, platform, sys, sysconfig, ziglang
assert sys.platform == 'linux'
libc = 'musl' if 'musl' in sysconfig.get_config_var('SOABI') else 'gnu.2.17'
print(pathlib.Path(ziglang.__file__).parent / 'zig', f'{platform.machine()}-linux-{libc}', sep=';', end='')"
  OUTPUT_VARIABLE found RESULT_VARIABLE missing ERROR_QUIET)
if(missing)
  message(FATAL_ERROR "No C++ compiler was found: no c++, g++ or clang++ on PATH, and no Python package ziglang.")
endif()

# Without a target zig compiles for the processor and the C library of this machine only. The machine may have no ar either.
list(GET found 0 zig)
list(GET found 1 target)
set(CMAKE_CXX_COMPILER "${zig}" c++ -target ${target} -mcpu=baseline)
set(CMAKE_CXX_ARCHIVE_CREATE "\"${zig}\" ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "\"${zig}\" ranlib <TARGET>")
