#include "textflag.h"
#include "avx512_amd64.h"
#include "rows_amd64.h"

ROWSFUNC(·gatherAVX512, src_base+24(FP), dst_base+0(FP), GATHER, GATHERTAIL)
ROWSFUNC(·scatterAVX512, dst_base+0(FP), src_base+24(FP), SCATTER, SCATTERTAIL)
