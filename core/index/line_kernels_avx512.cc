#define FRESHET_LANES 8
#define FRESHET_KERNELS kAvx512LineKernels
#include "core/index/line_kernels_impl.h"
