#include "textflag.h"
#include "neon_arm64.h"

// UPDATE gives from g, m, v and w the new m, v and w, in the same registers; clobbers s and t. V8 … V13 are b1, c1,
// b2, c2, rate and eps in all elements. Every product is rounded before it is added, as in Go.
#define UPDATE(g, m, v, w, s, t) \
	FMUL(8, m, m)  \
	FMUL(9, g, s)  \
	FADD(s, m, m)  \
	FMUL(10, v, v) \
	FMUL(11, g, s) \
	FMUL(g, s, s)  \
	FADD(s, v, v)  \
	FSQRT(v, t)    \
	FADD(13, t, t) \
	FDIV(t, m, t)  \
	FMUL(12, t, t) \
	FSUB(t, w, w)

// func adamNEON(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
//
// R0 w, R1 g, R3 m, R4 v; R2 elements are left. Eight at a time, then four, and then one by one, with zeros behind
// them.
TEXT ·adamNEON(SB), NOSPLIT, $0-120
	MOVD   w_base+0(FP), R0
	MOVD   w_len+8(FP), R2
	MOVD   g_base+24(FP), R1
	MOVD   m_base+48(FP), R3
	MOVD   v_base+72(FP), R4
	MOVD   $b1+96(FP), R5
	VLD1R.P 4(R5), [V8.S4]
	VLD1R.P 4(R5), [V9.S4]
	VLD1R.P 4(R5), [V10.S4]
	VLD1R.P 4(R5), [V11.S4]
	VLD1R.P 4(R5), [V12.S4]
	VLD1R  (R5), [V13.S4]
	SUBS   $8, R2
	BLT    four

loop:
	FLDPQ.P 32(R1), (F0, F16)
	FLDPQ   (R3), (F1, F17)
	FLDPQ   (R4), (F2, F18)
	FLDPQ   (R0), (F3, F19)
	UPDATE(0, 1, 2, 3, 4, 5)
	UPDATE(16, 17, 18, 19, 20, 21)
	FSTPQ.P (F1, F17), 32(R3)
	FSTPQ.P (F2, F18), 32(R4)
	FSTPQ.P (F3, F19), 32(R0)
	SUBS    $8, R2
	BGE     loop

four:
	ADDS    $4, R2
	BLT     rest
	FMOVQ.P 16(R1), F0
	FMOVQ   (R3), F1
	FMOVQ   (R4), F2
	FMOVQ   (R0), F3
	UPDATE(0, 1, 2, 3, 4, 5)
	FMOVQ.P F1, 16(R3)
	FMOVQ.P F2, 16(R4)
	FMOVQ.P F3, 16(R0)
	SUBS    $4, R2

rest:
	ADDS $4, R2
	BEQ  done

one:
	FMOVS.P 4(R1), F0
	FMOVS   (R3), F1
	FMOVS   (R4), F2
	FMOVS   (R0), F3
	UPDATE(0, 1, 2, 3, 4, 5)
	FMOVS.P F1, 4(R3)
	FMOVS.P F2, 4(R4)
	FMOVS.P F3, 4(R0)
	SUBS    $1, R2
	BNE     one

done:
	RET
