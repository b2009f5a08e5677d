#include "core/index/line_kernels.h"

namespace freshet {

// Defined in line_kernels_*.cc. Only the files for the target architecture are built.
extern const LineKernels kBaselineLineKernels;
#ifdef FRESHET_X86_LINE_KERNELS
extern const LineKernels kAvx2LineKernels;
extern const LineKernels kAvx512LineKernels;
#endif

size_t ListLineKernels(NamedLineKernels (&list)[3]) {
  size_t n = 0;
  list[n++] = {"baseline", &kBaselineLineKernels};
#ifdef FRESHET_X86_LINE_KERNELS
  if (__builtin_cpu_supports("avx2")) list[n++] = {"avx2", &kAvx2LineKernels};
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    list[n++] = {"avx512", &kAvx512LineKernels};
  }
#endif
  return n;
}

const LineKernels& BestLineKernels() {
  NamedLineKernels list[3];
  return *list[ListLineKernels(list) - 1].kernels;
}

}  // namespace freshet
