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

// func addNEON(dst, x, y []float32)
TEXT ·addNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R3
	BINARY(ADDOP)

UNARYFUNC(·scaledNEON, 56, LESSFACTOR, SCALED)
UNARYFUNC(·reluNEON, 48, NOTHING, RELU)
UNARYFUNC(·expNEON, 52, SHIFT, SHIFTEDEXP)
UNARYFUNC(·sigmoidNEON, 48, EXPS, SIGMOID)
UNARYFUNC(·tanhNEON, 48, EXPS, TANH)
GRADFUNC(·mulNEON, 73, 72, NOTHING, MULOP)
GRADFUNC(·reluGradNEON, 73, 72, NOTHING, RELUGRAD)
GRADFUNC(·sigmoidGradNEON, 73, 72, EXPONE, SIGMOIDGRAD)
GRADFUNC(·tanhGradNEON, 73, 72, EXPONE, TANHGRAD)
GRADFUNC(·softmaxGradNEON, 77, 76, DOT, SOFTMAXGRAD)
