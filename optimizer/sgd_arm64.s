#include "textflag.h"
#include "neon_arm64.h"

// func sgdNEON(w, g []float32, lr float32)
//
// R0 w, R1 g; R2 weights are left. Every product is rounded before it is subtracted, as in Go.
TEXT ·sgdNEON(SB), NOSPLIT, $0-52
	MOVD  w_base+0(FP), R0
	MOVD  w_len+8(FP), R2
	MOVD  g_base+24(FP), R1
	FMOVS lr+48(FP), F8
	VDUP  V8.S[0], V8.S4
	SUBS  $16, R2
	BLT   fours

loop16:
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1   (R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	FMUL(8, 0, 0)
	FMUL(8, 1, 1)
	FMUL(8, 2, 2)
	FMUL(8, 3, 3)
	FSUB(0, 4, 4)
	FSUB(1, 5, 5)
	FSUB(2, 6, 6)
	FSUB(3, 7, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUBS   $16, R2
	BGE    loop16

fours:
	ADDS $12, R2
	BLT  ones

loop4:
	FMOVQ.P 16(R1), F0
	FMOVQ   (R0), F4
	FMUL(8, 0, 0)
	FSUB(0, 4, 4)
	FMOVQ.P F4, 16(R0)
	SUBS    $4, R2
	BGE     loop4

ones:
	ADDS $4, R2
	BEQ  done

loop1:
	FMOVS.P 4(R1), F0
	FMOVS   (R0), F4
	FMULS   F8, F0
	FSUBS   F0, F4
	FMOVS.P F4, 4(R0)
	SUBS    $1, R2
	BNE     loop1

done:
	RET
