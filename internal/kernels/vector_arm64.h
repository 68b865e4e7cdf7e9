// Inner loops over vectors by NEON. Slices: R0 dst, R1 x, R3 y; R2 elements are left, and R5 says whether a gradient is added.
//
// An operation works on V0 and V1, which have elements of x and y, and leaves its result in V0; it may use V2 … V7, and loops
// use V0 and V1 alone. What a whole vector leaves comes one by one, as a vector with zeros behind its first element. V8 and V9
// hold scalar arguments, in every element.

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

// BINARY runs OP on V0 and V1, from R1 and R3; its result V0 goes to R0.
#define BINARY(OP) \
	SUBS $4, R2         \
	BLT  rest           \
loop:                   \
	FMOVQ.P 16(R1), F0  \
	FMOVQ.P 16(R3), F1  \
	OP                  \
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
	FMOVS.P F0, 4(R0)   \
	SUBS $1, R2         \
	BNE  one            \
done:                   \
	RET

// GRAD is BINARY for gradients: what is at R0 is added to the result if R5 is not 0.
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

// Simple operations.
#define ADDOP FADD(1, 0, 0)
#define MULOP FMUL(1, 0, 0)
#define AXPY  VFMLA V8.S4, V1.S4, V0.S4

// SCALED: (V0−V9)·V8
#define SCALED \
	FSUB(9, 0, 0) \
	FMUL(8, 0, 0)

// BEYOND: V0 + V8·(V0−V1)
#define BEYOND \
	FSUB(1, 0, 2) \
	VFMLA V8.S4, V2.S4, V0.S4

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
