#include "textflag.h"

#define WIDTH 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15

// masks<> has eight words of ones and then eight of zeros: the mask of n elements starts 4n bytes before the middle.
DATA masks<>+0(SB)/8, $0xffffffffffffffff
DATA masks<>+8(SB)/8, $0xffffffffffffffff
DATA masks<>+16(SB)/8, $0xffffffffffffffff
DATA masks<>+24(SB)/8, $0xffffffffffffffff
DATA masks<>+32(SB)/8, $0
DATA masks<>+40(SB)/8, $0
DATA masks<>+48(SB)/8, $0
DATA masks<>+56(SB)/8, $0
GLOBL masks<>(SB), RODATA|NOPTR, $64

#define TAILMASK \
	LEAQ    masks<>+32(SB), R9 \
	SHLQ    $2, CX             \
	SUBQ    CX, R9             \
	VMOVUPS (R9), V15

#define LOADTAIL(p, x)  VMASKMOVPS (p), V15, x
#define STORETAIL(x, p) VMASKMOVPS x, V15, (p)

// 6: not less or equal, true for a NaN.
#define POSITIVE(y, x, z) \
	VCMPPS $6, V9, y, V5 \
	VANDPS x, V5, z

#define BYSIGN(s, neg, pos, z) VBLENDVPS s, neg, pos, z

#define LESS(x, y, yes, no, z) \
	VCMPPS    $1, y, x, V5 \
	VBLENDVPS V5, yes, no, z

// SCALE multiplies by 2 to the powers n/2 and n−n/2, since 2ⁿ itself may not exist.
#define SCALE(n, x) \
	VCVTPS2DQ n, n    \
	VPSRAD $1, n, V4  \
	VPSUBD V4, n, n   \
	VPSLLD $23, n, n  \
	VPSLLD $23, V4, V4 \
	ONE(V2)           \
	VPADDD V2, n, n   \
	VPADDD V2, V4, V4 \
	VMULPS V4, x, x   \
	VMULPS n, x, x

#define NARROW(OP)

#include "vector_amd64.h"
#include "exp_amd64.h"

// func axpyAVX2(alpha float32, x, y []float32)
TEXT ·axpyAVX2(SB), NOSPLIT, $0-56
	VBROADCASTSS alpha+0(FP), V8
	MOVQ x_base+8(FP), SI
	MOVQ y_base+32(FP), DX
	MOVQ y_len+40(FP), CX
	MOVQ DX, DI
	BINARY(AXPY)

// func scaleAVX2(alpha float32, x []float32)
TEXT ·scaleAVX2(SB), NOSPLIT, $0-32
	VBROADCASTSS alpha+0(FP), V8
	MOVQ x_base+8(FP), SI
	MOVQ x_len+16(FP), CX
	MOVQ SI, DI
	UNARY(SCALED)

// func addAVX2(dst, x, y []float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	BINARY(ADD)

// func mulAVX2(dst, x, y []float32)
TEXT ·mulAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	BINARY(MUL)

// func dotAVX2(x, y []float32) float32
TEXT ·dotAVX2(SB), NOSPLIT, $0-52
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

// func sumAVX2(x []float32) float32
TEXT ·sumAVX2(SB), NOSPLIT, $0-28
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

// func reluAVX2(dst, x []float32)
TEXT ·reluAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VXORPS V9, V9, V9
	UNARY(RELU)

// func expAVX2(dst, x []float32, shift float32)
TEXT ·expAVX2(SB), NOSPLIT, $0-52
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSS shift+48(FP), V8
	UNARY(SHIFTEDEXP)

// func sigmoidAVX2(dst, x []float32)
TEXT ·sigmoidAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	UNARY(SIGMOID)

// func tanhAVX2(dst, x []float32)
TEXT ·tanhAVX2(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	UNARY(TANH)

// func reluGradAVX2(dx, y, dy []float32, accumulate bool)
TEXT ·reluGradAVX2(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	VXORPS  V9, V9, V9
	GRAD(RELUGRAD)

// func sigmoidGradAVX2(dx, y, dy []float32, accumulate bool)
TEXT ·sigmoidGradAVX2(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	ONE(V9)
	GRAD(SIGMOIDGRAD)

// func tanhGradAVX2(dx, y, dy []float32, accumulate bool)
TEXT ·tanhGradAVX2(SB), NOSPLIT, $0-73
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	ONE(V9)
	GRAD(TANHGRAD)

// func softmaxGradAVX2(dx, y, dy []float32, dot float32, accumulate bool)
TEXT ·softmaxGradAVX2(SB), NOSPLIT, $0-77
	MOVQ    dx_base+0(FP), DI
	MOVQ    dx_len+8(FP), CX
	MOVQ    y_base+24(FP), SI
	MOVQ    dy_base+48(FP), DX
	VBROADCASTSS dot+72(FP), V8
	MOVBLZX accumulate+76(FP), R8
	GRAD(SOFTMAXGRAD)
