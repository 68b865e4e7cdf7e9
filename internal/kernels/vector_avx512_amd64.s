#include "textflag.h"

#define WIDTH 64
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15

// The mask is K1; TAILMASK clobbers CX.
#define TAILMASK \
	MOVL  $1, R9 \
	SHLL  CX, R9 \
	DECL  R9     \
	KMOVW R9, K1

#define LOADTAIL(p, x)  VMOVUPS.Z (p), K1, x
#define STORETAIL(x, p) VMOVUPS x, K1, (p)

// 6: not less or equal, true for a NaN.
#define POSITIVE(y, x, z) \
	VCMPPS    $6, V9, y, K2 \
	VMOVAPS.Z x, K2, z

#define BYSIGN(s, neg, pos, z) \
	VPMOVD2M  s, K2 \
	VBLENDMPS neg, pos, K2, z

#define LESS(x, y, yes, no, z) \
	VCMPPS    $1, y, x, K2 \
	VBLENDMPS yes, no, K2, z

#define SCALE(n, x) VSCALEFPS n, x, x

// NARROW folds the upper half of V0 into the lower, Y0.
#define NARROW(OP) \
	VEXTRACTF64X4 $1, Z0, Y1 \
	OP Y1, Y0, Y0

#include "vector_amd64.h"
#include "exp_amd64.h"

// func axpyAVX512(alpha float32, x, y []float32)
TEXT ·axpyAVX512(SB), NOSPLIT, $0-56
	VBROADCASTSS alpha+0(FP), V8
	MOVQ x_base+8(FP), SI
	MOVQ y_base+32(FP), DX
	MOVQ y_len+40(FP), CX
	MOVQ DX, DI
	BINARY(AXPY)

// func scaleAVX512(alpha float32, x []float32)
TEXT ·scaleAVX512(SB), NOSPLIT, $0-32
	VBROADCASTSS alpha+0(FP), V8
	MOVQ x_base+8(FP), SI
	MOVQ x_len+16(FP), CX
	MOVQ SI, DI
	UNARY(SCALED)

// func addAVX512(dst, x, y []float32)
TEXT ·addAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	BINARY(ADD)

// func mulAVX512(dst, x, y []float32)
TEXT ·mulAVX512(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	BINARY(MUL)

// func dotAVX512(x, y []float32) float32
TEXT ·dotAVX512(SB), NOSPLIT, $0-52
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), DX
	ZERO4
	FOLD(DOT)
	JZ   total
	TAILMASK
	LOADTAIL(SI, V0)
	LOADTAIL(DX, V1)
	VFMADD231PS V0, V1, V11

total:
	TOTAL
	VZEROUPPER
	MOVSS X0, ret+48(FP)
	RET

// func sumAVX512(x []float32) float32
TEXT ·sumAVX512(SB), NOSPLIT, $0-28
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX
	ZERO4
	FOLD(SUM)
	JZ   total
	TAILMASK
	LOADTAIL(SI, V0)
	VADDPS V0, V11, V11

total:
	TOTAL
	VZEROUPPER
	MOVSS X0, ret+24(FP)
	RET

// func reluAVX512(dst, x []float32)
TEXT ·reluAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VXORPS V9, V9, V9
	UNARY(RELU)

// func expAVX512(dst, x []float32, shift float32)
TEXT ·expAVX512(SB), NOSPLIT, $0-52
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSS shift+48(FP), V8
	UNARY(SHIFTEDEXP)

// func sigmoidAVX512(dst, x []float32)
TEXT ·sigmoidAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	UNARY(SIGMOID)

// func tanhAVX512(dst, x []float32)
TEXT ·tanhAVX512(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	UNARY(TANH)

// func reluGradAVX512(dx, y, dy []float32, accumulate bool)
TEXT ·reluGradAVX512(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	VXORPS  V9, V9, V9
	GRAD(RELUGRAD)

// func sigmoidGradAVX512(dx, y, dy []float32, accumulate bool)
TEXT ·sigmoidGradAVX512(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	ONE(V9)
	GRAD(SIGMOIDGRAD)

// func tanhGradAVX512(dx, y, dy []float32, accumulate bool)
TEXT ·tanhGradAVX512(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	ONE(V9)
	GRAD(TANHGRAD)

// func softmaxGradAVX512(dx, y, dy []float32, dot float32, accumulate bool)
TEXT ·softmaxGradAVX512(SB), NOSPLIT, $0-77
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	VBROADCASTSS dot+72(FP), V8
	MOVBLZX accumulate+76(FP), R8
	GRAD(SOFTMAXGRAD)
