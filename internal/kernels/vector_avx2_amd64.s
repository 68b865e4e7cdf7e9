#include "textflag.h"
#include "avx2_amd64.h"
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

// func beyondAVX2(alpha float32, dst, from, x []float32)
TEXT ·beyondAVX2(SB), NOSPLIT, $0-80
	VBROADCASTSS alpha+0(FP), V8
	MOVQ dst_base+8(FP), DI
	MOVQ from_base+32(FP), DX
	MOVQ x_base+56(FP), SI
	MOVQ x_len+64(FP), CX
	BINARY(BEYOND)

// func scaledAVX2(dst, x []float32, less, factor float32)
TEXT ·scaledAVX2(SB), NOSPLIT, $0-56
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	VBROADCASTSS less+48(FP), V9
	VBROADCASTSS factor+52(FP), V8
	UNARY(SCALED)

// func addAVX2(dst, x, y []float32)
TEXT ·addAVX2(SB), NOSPLIT, $0-72
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ x_base+24(FP), SI
	MOVQ y_base+48(FP), DX
	BINARY(ADD)

// func mulAVX2(dst, x, y []float32, accumulate bool)
TEXT ·mulAVX2(SB), NOSPLIT, $0-73
	MOVQ    dst_base+0(FP), DI
	MOVQ    dst_len+8(FP), CX
	MOVQ    x_base+24(FP), SI
	MOVQ    y_base+48(FP), DX
	MOVBLZX accumulate+72(FP), R8
	GRAD(MUL)

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
