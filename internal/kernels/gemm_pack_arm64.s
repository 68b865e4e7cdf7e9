#include "textflag.h"

// TURN writes the transpose of the four rows a, b, c, d to p, q, r, s; clobbers V0 … V3.
#define TURN(a, b, c, d, p, q, r, s) \
	VZIP1 c.S4, a.S4, V0.S4   \
	VZIP2 c.S4, a.S4, V1.S4   \
	VZIP1 d.S4, b.S4, V2.S4   \
	VZIP2 d.S4, b.S4, V3.S4   \
	VZIP1 V2.S4, V0.S4, p.S4  \
	VZIP2 V2.S4, V0.S4, q.S4  \
	VZIP1 V3.S4, V1.S4, r.S4  \
	VZIP2 V3.S4, V1.S4, s.S4

// func turn8(panel []float32, height int, src []float32, stride, depth int)
TEXT ·turn8(SB), NOSPLIT, $0-72
	MOVD panel_base+0(FP), R0
	MOVD height+24(FP), R1
	MOVD src_base+32(FP), R8
	MOVD stride+56(FP), R3
	MOVD depth+64(FP), R4
	LSL  $2, R1

	// R8 … R15 point to the rows.
	ADD  R3<<2, R8, R9
	ADD  R3<<2, R9, R10
	ADD  R3<<2, R10, R11
	ADD  R3<<2, R11, R12
	ADD  R3<<2, R12, R13
	ADD  R3<<2, R13, R14
	ADD  R3<<2, R14, R15
	SUBS $4, R4
	BLT  done

loop:
	FMOVQ.P 16(R8), F8
	FMOVQ.P 16(R9), F9
	FMOVQ.P 16(R10), F10
	FMOVQ.P 16(R11), F11
	FMOVQ.P 16(R12), F12
	FMOVQ.P 16(R13), F13
	FMOVQ.P 16(R14), F14
	FMOVQ.P 16(R15), F15
	TURN(V8, V9, V10, V11, V16, V18, V20, V22)
	TURN(V12, V13, V14, V15, V17, V19, V21, V23)
	VST1.P  [V16.S4, V17.S4], (R0)(R1)
	VST1.P  [V18.S4, V19.S4], (R0)(R1)
	VST1.P  [V20.S4, V21.S4], (R0)(R1)
	VST1.P  [V22.S4, V23.S4], (R0)(R1)
	SUBS    $4, R4
	BGE     loop

done:
	RET

// func copy8(panel []float32, height int, src []float32, stride, rows, depth int)
TEXT ·copy8(SB), NOSPLIT, $0-80
	MOVD panel_base+0(FP), R0
	MOVD height+24(FP), R1
	MOVD src_base+32(FP), R2
	MOVD stride+56(FP), R3
	MOVD rows+64(FP), R4
	MOVD depth+72(FP), R5
	LSL  $2, R1
	LSL  $2, R3

column:
	MOVD R0, R6
	MOVD R2, R7
	MOVD R4, R8

rows:
	VLD1.P 32(R7), [V0.S4, V1.S4]
	VST1.P [V0.S4, V1.S4], 32(R6)
	SUBS   $8, R8
	BNE    rows
	ADD    R1, R0
	ADD    R3, R2
	SUBS   $1, R5
	BNE    column
	RET
