#include "textflag.h"
#include "avx2_amd64.h"
#include "sum_amd64.h"

#define DOT(off, a, b) \
	VMOVUPS     off(SI), Y0          \
	VMOVUPS     (off+32)(SI), Y1     \
	VFMADD231PS off(DX), Y0, a       \
	VFMADD231PS (off+32)(DX), Y1, b

#define SUM(off, a, b) \
	VADDPS off(SI), a, a       \
	VADDPS (off+32)(SI), b, b

// MAX keeps the largest so far where the other is NaN.
#define MAX(off, a, b) \
	VMOVUPS off(SI), Y0      \
	VMOVUPS (off+32)(SI), Y1 \
	VMAXPS  a, Y0, a         \
	VMAXPS  b, Y1, b

// TAILMASK2 makes the mask of CX elements, up to 16, in Y14 and Y15; LOADTAIL2 loads what it allows, with zeros behind.
#define TAILMASK2 \
	TAILMASK             \
	VMOVAPS Y15, Y14     \
	VMOVUPS 32(R9), Y15

#define LOADTAIL2(p, lo, hi) \
	VMASKMOVPS (p), Y14, lo   \
	VMASKMOVPS 32(p), Y15, hi

#define DOTTAIL \
	TAILMASK2                 \
	LOADTAIL2(SI, Y0, Y1)     \
	LOADTAIL2(DX, Y2, Y3)     \
	VFMADD231PS Y0, Y2, A1    \
	VFMADD231PS Y1, Y3, B1

#define SUMTAIL \
	TAILMASK2             \
	LOADTAIL2(SI, Y0, Y1) \
	VADDPS Y0, A1, A1     \
	VADDPS Y1, B1, B1

#define MAXTAIL \
	TAILMASK2                    \
	LOADTAIL2(SI, Y0, Y1)        \
	VBLENDVPS Y14, Y0, A1, Y0    \
	VBLENDVPS Y15, Y1, B1, Y1    \
	VMAXPS    A1, Y0, A1         \
	VMAXPS    B1, Y1, B1

#define JOIN(OP) \
	OP A1, A0, A0 \
	OP A3, A2, A2 \
	OP A2, A0, A0 \
	OP B1, B0, B0 \
	OP B3, B2, B2 \
	OP B2, B0, B0 \
	OP B0, A0, Y0

// func dotAVX2(x, y []float32) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-52
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DX
	CLEAR
	FOLD(DOT, DOTTAIL)
	FINISH(VADDPS, VADDSS)
	MOVSS X0, ret+48(FP)
	RET

// func sumAVX2(x []float32) float32
TEXT ·sumAVX2(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	CLEAR
	FOLD(SUM, SUMTAIL)
	FINISH(VADDPS, VADDSS)
	MOVSS X0, ret+24(FP)
	RET

// func maximumAVX2(x []float32) float32
TEXT ·maximumAVX2(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	LOWEST(A0)
	VMOVAPS A0, A1
	VMOVAPS A0, A2
	VMOVAPS A0, A3
	VMOVAPS A0, B0
	VMOVAPS A0, B1
	VMOVAPS A0, B2
	VMOVAPS A0, B3
	FOLD(MAX, MAXTAIL)
	FINISH(VMAXPS, VMAXSS)
	MOVSS X0, ret+24(FP)
	RET
