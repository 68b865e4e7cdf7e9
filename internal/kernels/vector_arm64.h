// Inner loops over vectors by NEON. Slices: R0 dst, R1 x, R3 y; R2 elements are left, and R5 says whether a gradient
// is added.
//
// An operation works on V0 and V1, which have elements of x and y, and leaves its result in V0; it may use V2 … V7.
// What whole vectors leave comes one by one, as a vector with zeros behind its first element. V8 and V9 hold scalar
// arguments, in every element.

// UNARY runs OP on V0, from R1 to R0.
#define UNARY(OP) \
	SUBS $4, R2         \
	BLT  rest           \
loop:                   \
	FMOVQ.P 16(R1), F0  \
	OP                  \
	FMOVQ.P F0, 16(R0)  \
	SUBS $4, R2         \
	BGE  loop           \
rest:                   \
	ADDS $4, R2         \
	BEQ  done           \
one:                    \
	FMOVS.P 4(R1), F0   \
	OP                  \
	FMOVS.P F0, 4(R0)   \
	SUBS $1, R2         \
	BNE  one            \
done:                   \
	RET

// BINARY runs OP(x, y) on registers with elements from R1 and R3, sixteen at a time while it can; its result x goes
// to R0.
#define BINARY(OP) \
	SUBS $16, R2        \
	BLT  fours          \
loop16:                 \
	VLD1.P 64(R1), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VLD1.P 64(R3), [V20.S4, V21.S4, V22.S4, V23.S4] \
	OP(16, 20)          \
	OP(17, 21)          \
	OP(18, 22)          \
	OP(19, 23)          \
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R0) \
	SUBS $16, R2        \
	BGE  loop16         \
fours:                  \
	ADDS $12, R2        \
	BLT  rest           \
loop:                   \
	FMOVQ.P 16(R1), F0  \
	FMOVQ.P 16(R3), F1  \
	OP(0, 1)            \
	FMOVQ.P F0, 16(R0)  \
	SUBS $4, R2         \
	BGE  loop           \
rest:                   \
	ADDS $4, R2         \
	BEQ  done           \
one:                    \
	FMOVS.P 4(R1), F0   \
	FMOVS.P 4(R3), F1   \
	OP(0, 1)            \
	FMOVS.P F0, 4(R0)   \
	SUBS $1, R2         \
	BNE  one            \
done:                   \
	RET

// GRAD runs OP on V0 and V1, from R1 and R3; what is at R0 is added to its result V0 if R5 is not 0.
#define GRAD(OP) \
	SUBS $4, R2         \
	BLT  rest           \
loop:                   \
	FMOVQ.P 16(R1), F0  \
	FMOVQ.P 16(R3), F1  \
	OP                  \
	CBZ R5, put         \
	FMOVQ (R0), F1      \
	FADD(1, 0, 0)       \
put:                    \
	FMOVQ.P F0, 16(R0)  \
	SUBS $4, R2         \
	BGE  loop           \
rest:                   \
	ADDS $4, R2         \
	BEQ  done           \
one:                    \
	FMOVS.P 4(R1), F0   \
	FMOVS.P 4(R3), F1   \
	OP                  \
	CBZ R5, putOne      \
	FMOVS (R0), F1      \
	FADD(1, 0, 0)       \
putOne:                 \
	FMOVS.P F0, 4(R0)   \
	SUBS $1, R2         \
	BNE  one            \
done:                   \
	RET

// SCALAR has an argument in all elements of a vector.
#define SCALAR(arg, v) \
	FMOVS arg, F0       \
	VDUP  V0.S[0], v.S4

// Operations of BINARY, on numbers of registers. V8 holds the scalar argument, if there is one.
#define ADDOP(x, y) FADD(y, x, x)
#define AXPY(x, y)  FMLA(8, y, x)

// BEYOND: x + V8·(x−y)
#define BEYOND(x, y) \
	FSUB(y, x, 2) \
	FMLA(8, 2, x)

// Operations of UNARY and GRAD.
#define MULOP FMUL(1, 0, 0)

// SCALED: (V0−V9)·V8
#define SCALED \
	FSUB(9, 0, 0) \
	FMUL(8, 0, 0)

// RELU: 0 where V0 is below, so that a NaN stays.
#define RELU \
	FCMLT0(0, 2) \
	BIC(2, 0, 0)

// RELUGRAD: V1 where V0 is positive or NaN, else 0.
#define RELUGRAD \
	FCMLE0(0, 2) \
	BIC(2, 1, 0)

// SIGMOIDGRAD: V1·V0·(1−V0), V9 being 1.
#define SIGMOIDGRAD \
	FSUB(0, 9, 2) \
	FMUL(0, 1, 0) \
	FMUL(2, 0, 0)

// TANHGRAD: V1·(1−V0²), V9 being 1.
#define TANHGRAD \
	VMOV  V9.B16, V2.B16       \
	VFMLS V0.S4, V0.S4, V2.S4  \
	FMUL(1, 2, 0)

// SOFTMAXGRAD: V0·(V1−V8).
#define SOFTMAXGRAD \
	FSUB(8, 1, 1) \
	FMUL(1, 0, 0)

// The functions, which return behind their loops. FRAME is the size of what they are given, and PRE sets V8 and V9.

// UNARYFUNC is func(dst, x []float32, …).
#define UNARYFUNC(NAME, FRAME, PRE, OP) \
TEXT NAME(SB), NOSPLIT, $0-FRAME \
	MOVD dst_base+0(FP), R0 \
	MOVD x_base+24(FP), R1  \
	MOVD x_len+32(FP), R2   \
	PRE                     \
	UNARY(OP)

// GRADFUNC is func(dst, x, y []float32, …, accumulate bool), whose last is at FLAG.
#define GRADFUNC(NAME, FRAME, FLAG, PRE, OP) \
TEXT NAME(SB), NOSPLIT, $0-FRAME \
	MOVD  dst_base+0(FP), R0 \
	MOVD  dst_len+8(FP), R2  \
	MOVD  x_base+24(FP), R1  \
	MOVD  y_base+48(FP), R3  \
	MOVBU accumulate+FLAG(FP), R5 \
	PRE                      \
	GRAD(OP)

#define NOTHING
#define DOT  SCALAR(dot+72(FP), V8)

#define EXPONE \
	EXPS \
	ONE(V9)

#define SHIFT \
	SCALAR(shift+48(FP), V8) \
	EXPS

#define LESSFACTOR \
	SCALAR(less+48(FP), V9)   \
	SCALAR(factor+52(FP), V8)
