# ATTNLAB_STATIC: OpenBLAS, its Fortran runtime, fmt and the C++ library are linked in, so that the program runs wherever
# there is glibc. Debian has no archive of fmt, but its headers are enough.
set(attnlab_fmt fmt::fmt-header-only)
find_library(OPENBLAS_ARCHIVE libopenblas.a REQUIRED)
set_target_properties(BLAS::BLAS PROPERTIES
  INTERFACE_LINK_LIBRARIES "${OPENBLAS_ARCHIVE};-l:libgfortran.a;-l:libquadmath.a")
set_target_properties(xtensor-blas PROPERTIES INTERFACE_LINK_LIBRARIES "")  # it names the shared OpenBLAS
add_link_options(-static-libstdc++ -static-libgcc -no-pie)
