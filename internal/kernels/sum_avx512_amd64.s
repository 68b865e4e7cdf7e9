#include "textflag.h"
#include "avx512_amd64.h"
#include "sum_amd64.h"

#define DOT(off, a, b) \
	VMOVUPS     off(SI), Z0    \
	VFMADD231PS off(DX), Z0, a

#define SUM(off, a, b) VADDPS off(SI), a, a

// MAX keeps the largest so far where the other is NaN.
#define MAX(off, a, b) \
	VMOVUPS off(SI), Z0 \
	VMAXPS  a, Z0, a

#define DOTTAIL \
	TAILMASK                \
	LOADTAIL(SI, Z0)        \
	LOADTAIL(DX, Z1)        \
	VFMADD231PS Z0, Z1, A1

#define SUMTAIL \
	TAILMASK          \
	LOADTAIL(SI, Z0)  \
	VADDPS Z0, A1, A1

#define MAXTAIL \
	TAILMASK              \
	LOADTAIL(SI, Z0)      \
	VMAXPS A1, Z0, K1, A1

#define JOIN(OP) \
	OP A1, A0, A0 \
	OP A3, A2, A2 \
	OP A2, A0, Z0 \
	VEXTRACTF64X4 $1, Z0, Y1 \
	OP Y1, Y0, Y0

// func dotAVX512(x, y []float32) float32
TEXT ·dotAVX512(SB), NOSPLIT, $0-52
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DX
	CLEAR
	FOLD(DOT, DOTTAIL)
	FINISH(VADDPS, VADDSS)
	MOVSS X0, ret+48(FP)
	RET

// func sumAVX512(x []float32) float32
TEXT ·sumAVX512(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	CLEAR
	FOLD(SUM, SUMTAIL)
	FINISH(VADDPS, VADDSS)
	MOVSS X0, ret+24(FP)
	RET

// func maximumAVX512(x []float32) float32
TEXT ·maximumAVX512(SB), NOSPLIT, $0-28
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
