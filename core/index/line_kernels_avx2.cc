#define FRESHET_LANES 4
#define FRESHET_KERNELS kAvx2LineKernels
#include "core/index/line_kernels_impl.h"
