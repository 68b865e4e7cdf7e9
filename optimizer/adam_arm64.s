#include "textflag.h"
#include "neon_arm64.h"

// UPDATE gives from g, m, v and w in V0 to V3 the new m, v and w in V1 to V3. V8 … V13 are b1, c1, b2, c2, rate and
// eps in all elements. Every product is rounded before it is added, as in Go.
#define UPDATE \
	FMUL(8, 1, 1)  \
	FMUL(9, 0, 4)  \
	FADD(4, 1, 1)  \
	FMUL(10, 2, 2) \
	FMUL(11, 0, 4) \
	FMUL(0, 4, 4)  \
	FADD(4, 2, 2)  \
	FSQRT(2, 5)    \
	FADD(13, 5, 5) \
	FDIV(5, 1, 5)  \
	FMUL(12, 5, 5) \
	FSUB(5, 3, 3)

// func adamNEON(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
//
// R0 w, R1 g, R3 m, R4 v; R2 elements are left. Four at a time, and then one by one, with zeros behind them.
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
	SUBS   $4, R2
	BLT    rest

loop:
	FMOVQ.P 16(R1), F0
	FMOVQ   (R3), F1
	FMOVQ   (R4), F2
	FMOVQ   (R0), F3
	UPDATE
	FMOVQ.P F1, 16(R3)
	FMOVQ.P F2, 16(R4)
	FMOVQ.P F3, 16(R0)
	SUBS    $4, R2
	BGE     loop

rest:
	ADDS $4, R2
	BEQ  done

one:
	FMOVS.P 4(R1), F0
	FMOVS   (R3), F1
	FMOVS   (R4), F2
	FMOVS   (R0), F3
	UPDATE
	FMOVS.P F1, 4(R3)
	FMOVS.P F2, 4(R4)
	FMOVS.P F3, 4(R0)
	SUBS    $1, R2
	BNE     one

done:
	RET
