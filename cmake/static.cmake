# ATTNLAB_STATIC: OpenBLAS, its Fortran runtime, fmt and the C++ library are linked in, so that the program runs wherever
# there is glibc. Debian has no archive of fmt, but its headers are enough.
if(NOT ATTNLAB_LINKS_OPENBLAS)
  message(FATAL_ERROR "ATTNLAB_STATIC needs libopenblas.a and libgfortran.a: install libopenblas-dev and libgfortran-12-dev")
endif()
set(attnlab_fmt fmt::fmt-header-only)
add_link_options(-static-libstdc++ -static-libgcc -no-pie)
