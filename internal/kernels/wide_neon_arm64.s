#include "textflag.h"
#include "neon_arm64.h"

// Four columns at a time, as float64 in V0 and V1; callers compute what is left behind a multiple of four. R1 x, R2
// how many columns, R3 and R4 the float64 of columns. A product is rounded before it is added, as everywhere.
#define WIDE(OP) \
loop:                  \
	FMOVQ.P 16(R1), F2 \
	WIDEN(2, 0)        \
	WIDEN2(2, 1)       \
	OP                 \
	SUBS $4, R2        \
	BGT  loop          \
	RET

#define ADDWIDE \
	VLD1   (R3), [V2.D2, V3.D2] \
	FADDD(0, 2, 2)              \
	FADDD(1, 3, 3)              \
	VST1.P [V2.D2, V3.D2], 32(R3)

#define ADDSQUARES \
	VLD1.P 32(R4), [V4.D2, V5.D2] \
	FSUBD(4, 0, 0)                \
	FSUBD(5, 1, 1)                \
	FMULD(0, 0, 0)                \
	FMULD(1, 1, 1)                \
	ADDWIDE

#define NORMAL \
	VLD1.P 32(R3), [V2.D2, V3.D2] \
	VLD1.P 32(R4), [V4.D2, V5.D2] \
	FSUBD(2, 0, 0)                \
	FSUBD(3, 1, 1)                \
	FMULD(4, 0, 0)                \
	FMULD(5, 1, 1)                \
	NARROW(0, 2)                  \
	NARROW2(1, 2)                 \
	FMOVQ.P F2, 16(R0)

// func addWideLanes(x []float32, sums, _ []float64)
TEXT ·addWideLanes(SB), NOSPLIT, $0-72
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R2
	MOVD sums_base+24(FP), R3
	WIDE(ADDWIDE)

// func addSquaresLanes(x []float32, sums, mean []float64)
TEXT ·addSquaresLanes(SB), NOSPLIT, $0-72
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R2
	MOVD sums_base+24(FP), R3
	MOVD mean_base+48(FP), R4
	WIDE(ADDSQUARES)

// func normalLanes(dst, x []float32, mean, factor []float64)
TEXT ·normalLanes(SB), NOSPLIT, $0-96
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	MOVD mean_base+48(FP), R3
	MOVD factor_base+72(FP), R4
	WIDE(NORMAL)
