# OpenBLAS and its Fortran runtime are linked into programs where their archives are there: loaded as shared libraries,
# attnlab takes half as long again to start. The sanitizers know the shared library by its name.
option(ATTNLAB_SHARED_BLAS "Load OpenBLAS as a shared library" OFF)
find_library(OPENBLAS_ARCHIVE libopenblas.a)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libgfortran.a OUTPUT_VARIABLE fortran_archive
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(OPENBLAS_ARCHIVE AND EXISTS "${fortran_archive}" AND NOT ATTNLAB_SHARED_BLAS AND NOT ATTNLAB_SANITIZE)
  set(ATTNLAB_LINKS_OPENBLAS ON)
  set_target_properties(BLAS::BLAS PROPERTIES
    INTERFACE_LINK_LIBRARIES "${OPENBLAS_ARCHIVE};-l:libgfortran.a;-l:libquadmath.a")
  set_target_properties(xtensor-blas PROPERTIES INTERFACE_LINK_LIBRARIES "")  # it names the shared OpenBLAS
endif()
