#include "textflag.h"
#include "neon_arm64.h"

// Loops that make one number of slices. They gather what the loops for amd64 do, in the same order, and so give the
// same bits: sixteen lanes in each of four places. V16 … V19 are the lanes of the first place, V20 … V23 those of the
// second, and so on.

// START gives the lanes of two places their first value.
#define START(v, a, b, c, d, e, f, g, h) \
	VMOV v.B16, a.B16 \
	VMOV v.B16, b.B16 \
	VMOV v.B16, c.B16 \
	VMOV v.B16, d.B16 \
	VMOV v.B16, e.B16 \
	VMOV v.B16, f.B16 \
	VMOV v.B16, g.B16 \
	VMOV v.B16, h.B16

// FOLD runs SIXTEEN on each sixteen elements, with the lanes that they go to. Of what is left, LAST has the elements
// that fill no vector of four in V0 (and V4) first, with V8 behind; FOUR then loads one of four to V1 (and V5), and
// OP(x, y, sum) adds one. V8 is the first value. Less than 64 elements have nothing in the third and fourth place.
#define FOLD(SIXTEEN, LAST, FOUR, OP) \
	START(V8, V16, V17, V18, V19, V20, V21, V22, V23) \
	MOVD R2, R7                 \
	SUBS $64, R2                \
	BLT  single                 \
	START(V8, V24, V25, V26, V27, V28, V29, V30, V31) \
loop:                           \
	SIXTEEN(16, 17, 18, 19)     \
	SIXTEEN(20, 21, 22, 23)     \
	SIXTEEN(24, 25, 26, 27)     \
	SIXTEEN(28, 29, 30, 31)     \
	SUBS $64, R2                \
	BGE  loop                   \
single:                         \
	ADDS $48, R2                \
	BLT  tail                   \
loop1:                          \
	SIXTEEN(16, 17, 18, 19)     \
	SUBS $16, R2                \
	BGE  loop1                  \
tail:                           \
	ADDS $16, R2                \
	BEQ  finish                 \
	AND  $12, R2, R4            \
	LAST                        \
	CBZ  R4, last0              \
	FOUR                        \
	OP(1, 5, 20)                \
	SUBS $4, R4                 \
	BEQ  last1                  \
	FOUR                        \
	OP(1, 5, 21)                \
	SUBS $4, R4                 \
	BEQ  last2                  \
	FOUR                        \
	OP(1, 5, 22)                \
	OP(0, 4, 23)                \
	B    finish                 \
last0:                          \
	OP(0, 4, 20)                \
	B    finish                 \
last1:                          \
	OP(0, 4, 21)                \
	B    finish                 \
last2:                          \
	OP(0, 4, 22)                \
finish:

// SHORT has the last one to three elements, as R2 says, R4 elements behind the address p, in v; one and ready name
// its labels.
#define SHORT(p, v, one, ready) \
	ADD  R4<<2, p, R6           \
	TBZ  $1, R2, one            \
	VLD1.P 8(R6), v.D[0]        \
	TBZ  $0, R2, ready          \
	VLD1 (R6), v.S[2]           \
	B    ready                  \
one:                            \
	TBZ  $0, R2, ready          \
	VLD1 (R6), v.S[0]           \
ready:

// FINISH makes one number of the places, in F16: sixteen lanes of two and of four, and then four, two and one.
#define FINISH(OP) \
	OP(20, 0, 16)   \
	OP(21, 0, 17)   \
	OP(22, 0, 18)   \
	OP(23, 0, 19)   \
	CMP  $64, R7    \
	BLT  joined     \
	OP(28, 0, 24)   \
	OP(29, 0, 25)   \
	OP(30, 0, 26)   \
	OP(31, 0, 27)   \
	OP(24, 0, 16)   \
	OP(25, 0, 17)   \
	OP(26, 0, 18)   \
	OP(27, 0, 19)   \
joined:             \
	OP(18, 0, 16)   \
	OP(19, 0, 17)   \
	OP(17, 0, 16)   \
	VEXT $8, V16.B16, V16.B16, V17.B16 \
	OP(17, 0, 16)   \
	VDUP V16.S[1], V17.S4 \
	OP(17, 0, 16)

#define SUMOP(x, y, sum) FADD(x, sum, sum)

#define SUM16(a, b, c, d) \
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4] \
	FADD(0, a, a) \
	FADD(1, b, b) \
	FADD(2, c, c) \
	FADD(3, d, d)

#define LAST1 \
	VMOV V8.B16, V0.B16 \
	SHORT(R1, V0, one, ready)

#define FOUR1 FMOVQ.P 16(R1), F1

// func sumNEON(x []float32) float32
TEXT ·sumNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R2
	VEOR V8.B16, V8.B16, V8.B16
	FOLD(SUM16, LAST1, FOUR1, SUMOP)
	FINISH(SUMOP)
	FMOVS F16, ret+24(FP)
	RET

#define DOTOP(x, y, sum) FMLA(x, y, sum)

#define DOT16(a, b, c, d) \
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4] \
	FMLA(0, 4, a) \
	FMLA(1, 5, b) \
	FMLA(2, 6, c) \
	FMLA(3, 7, d)

#define DOTLAST \
	VMOV V8.B16, V0.B16                  \
	VMOV V8.B16, V4.B16                  \
	SHORT(R1, V0, oneX, readyX)    \
	SHORT(R3, V4, oneY, readyY)

#define DOTFOUR \
	FMOVQ.P 16(R1), F1 \
	FMOVQ.P 16(R3), F5

// func dotNEON(x, y []float32) float32
TEXT ·dotNEON(SB), NOSPLIT, $0-52
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R2
	MOVD y_base+24(FP), R3
	VEOR V8.B16, V8.B16, V8.B16
	FOLD(DOT16, DOTLAST, DOTFOUR, DOTOP)
	FINISH(SUMOP)
	FMOVS F16, ret+48(FP)
	RET

// MAXOP keeps the largest so far where the other is NaN.
#define MAXOP(x, y, most) \
	FCMGT(most, x, 6) \
	BIT(6, x, most)

#define MAX16(a, b, c, d) \
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4] \
	MAXOP(0, 0, a) \
	MAXOP(1, 0, b) \
	MAXOP(2, 0, c) \
	MAXOP(3, 0, d)

// func maximumNEON(x []float32) float32
TEXT ·maximumNEON(SB), NOSPLIT, $0-28
	MOVD x_base+0(FP), R1
	MOVD x_len+8(FP), R2
	MOVD $0xff800000, R4 // −Inf
	VDUP R4, V8.S4
	FOLD(MAX16, LAST1, FOUR1, MAXOP)
	FINISH(MAXOP)
	FMOVS F16, ret+24(FP)
	RET
