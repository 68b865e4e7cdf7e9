#include "textflag.h"
#include "avx2_amd64.h"
#include "rows_amd64.h"

// func gatherAVX2(dst, src []float32, dim int, index []int32)
TEXT ·gatherAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), DI
	MOVQ src_base+24(FP), SI
	MOVQ dim+48(FP), CX
	MOVQ index_base+56(FP), R10
	MOVQ index_len+64(FP), R11
	ROWSTART
	ROWS(GATHER, GATHERTAIL)

// func scatterAVX2(dst, src []float32, dim int, index []int32)
TEXT ·scatterAVX2(SB), NOSPLIT, $0-80
	MOVQ dst_base+0(FP), SI
	MOVQ src_base+24(FP), DI
	MOVQ dim+48(FP), CX
	MOVQ index_base+56(FP), R10
	MOVQ index_len+64(FP), R11
	ROWSTART
	ROWS(SCATTER, SCATTERTAIL)
