#include "textflag.h"
#include "neon_arm64.h"
#include "vector_arm64.h"
#include "exp_arm64.h"

// func axpyNEON(alpha float32, x, y []float32)
TEXT ·axpyNEON(SB), NOSPLIT, $0-56
	SCALAR(alpha+0(FP), V8)
	MOVD x_base+8(FP), R3
	MOVD y_base+32(FP), R1
	MOVD y_len+40(FP), R2
	MOVD R1, R0
	BINARY(AXPY)

// func beyondNEON(alpha float32, dst, from, x []float32)
TEXT ·beyondNEON(SB), NOSPLIT, $0-80
	SCALAR(alpha+0(FP), V8)
	MOVD dst_base+8(FP), R0
	MOVD from_base+32(FP), R3
	MOVD x_base+56(FP), R1
	MOVD x_len+64(FP), R2
	BINARY(BEYOND)

// func scaledNEON(dst, x []float32, less, factor float32)
TEXT ·scaledNEON(SB), NOSPLIT, $0-56
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	SCALAR(less+48(FP), V9)
	SCALAR(factor+52(FP), V8)
	UNARY(SCALED)

// func addNEON(dst, x, y []float32)
TEXT ·addNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R3
	BINARY(ADDOP)

// func mulNEON(dst, x, y []float32, accumulate bool)
TEXT ·mulNEON(SB), NOSPLIT, $0-73
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R2
	MOVD  x_base+24(FP), R1
	MOVD  y_base+48(FP), R3
	MOVBU accumulate+72(FP), R5
	GRAD(MULOP)

// func reluNEON(dst, x []float32)
TEXT ·reluNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	UNARY(RELU)

// func expNEON(dst, x []float32, shift float32)
TEXT ·expNEON(SB), NOSPLIT, $0-52
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	SCALAR(shift+48(FP), V8)
	EXPS
	UNARY(SHIFTEDEXP)

// func sigmoidNEON(dst, x []float32)
TEXT ·sigmoidNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	EXPS
	UNARY(SIGMOID)

// func tanhNEON(dst, x []float32)
TEXT ·tanhNEON(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	EXPS
	UNARY(TANH)

// func reluGradNEON(dx, y, dy []float32, accumulate bool)
TEXT ·reluGradNEON(SB), NOSPLIT, $0-73
	MOVD  dx_base+0(FP), R0
	MOVD  dx_len+8(FP), R2
	MOVD  y_base+24(FP), R1
	MOVD  dy_base+48(FP), R3
	MOVBU accumulate+72(FP), R5
	GRAD(RELUGRAD)

// func sigmoidGradNEON(dx, y, dy []float32, accumulate bool)
TEXT ·sigmoidGradNEON(SB), NOSPLIT, $0-73
	MOVD  dx_base+0(FP), R0
	MOVD  dx_len+8(FP), R2
	MOVD  y_base+24(FP), R1
	MOVD  dy_base+48(FP), R3
	MOVBU accumulate+72(FP), R5
	EXPS
	ONE(V9)
	GRAD(SIGMOIDGRAD)

// func tanhGradNEON(dx, y, dy []float32, accumulate bool)
TEXT ·tanhGradNEON(SB), NOSPLIT, $0-73
	MOVD  dx_base+0(FP), R0
	MOVD  dx_len+8(FP), R2
	MOVD  y_base+24(FP), R1
	MOVD  dy_base+48(FP), R3
	MOVBU accumulate+72(FP), R5
	EXPS
	ONE(V9)
	GRAD(TANHGRAD)

// func softmaxGradNEON(dx, y, dy []float32, dot float32, accumulate bool)
TEXT ·softmaxGradNEON(SB), NOSPLIT, $0-77
	MOVD  dx_base+0(FP), R0
	MOVD  dx_len+8(FP), R2
	MOVD  y_base+24(FP), R1
	MOVD  dy_base+48(FP), R3
	SCALAR(dot+72(FP), V8)
	MOVBU accumulate+76(FP), R5
	GRAD(SOFTMAXGRAD)
