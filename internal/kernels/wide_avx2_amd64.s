#include "textflag.h"

// Four columns at a time; callers compute what is left behind a multiple of four. SI x, R8 and R9 the float64 of columns, CX
// how many columns.
#define WIDE(OP) \
loop:                  \
	VCVTPS2PD (SI), Y0 \
	OP                 \
	ADDQ $16, SI       \
	ADDQ $32, R8       \
	ADDQ $32, R9       \
	SUBQ $4, CX        \
	JG   loop          \
	VZEROUPPER         \
	RET

#define ADDWIDE \
	VADDPD  (R8), Y0, Y0 \
	VMOVUPD Y0, (R8)

#define ADDSQUARES \
	VSUBPD  (R9), Y0, Y0 \
	VMULPD  Y0, Y0, Y0   \
	VADDPD  (R8), Y0, Y0 \
	VMOVUPD Y0, (R8)

#define NORMAL \
	VSUBPD     (R8), Y0, Y0 \
	VMULPD     (R9), Y0, Y0 \
	VCVTPD2PSY Y0, X0       \
	VMOVUPS    X0, (DI)     \
	ADDQ       $16, DI

// func addWideLanes(x []float32, sums, _ []float64)
TEXT ·addWideLanes(SB), NOSPLIT, $0-72
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ sums_base+24(FP), R8
	WIDE(ADDWIDE)

// func addSquaresLanes(x []float32, sums, mean []float64)
TEXT ·addSquaresLanes(SB), NOSPLIT, $0-72
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ sums_base+24(FP), R8
	MOVQ mean_base+48(FP), R9
	WIDE(ADDSQUARES)

// func normalLanes(dst, x []float32, mean, factor []float64)
TEXT ·normalLanes(SB), NOSPLIT, $0-96
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	MOVQ mean_base+48(FP), R8
	MOVQ factor_base+72(FP), R9
	WIDE(NORMAL)
