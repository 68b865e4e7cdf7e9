#include "textflag.h"
#include "neon_arm64.h"

// The tile is in V16 … V31, two registers for each of its eight rows; B0 and B1 are numbers of registers with eight
// columns of B.

// COLUMNS adds a column of A times a row of B: rows 0 to 3 of A are in register lower, rows 4 to 7 in upper.
#define COLUMNS(lower, upper, b0, b1) \
	FMLAE(lower, 0, b0, 16) \
	FMLAE(lower, 0, b1, 17) \
	FMLAE(lower, 1, b0, 18) \
	FMLAE(lower, 1, b1, 19) \
	FMLAE(lower, 2, b0, 20) \
	FMLAE(lower, 2, b1, 21) \
	FMLAE(lower, 3, b0, 22) \
	FMLAE(lower, 3, b1, 23) \
	FMLAE(upper, 0, b0, 24) \
	FMLAE(upper, 0, b1, 25) \
	FMLAE(upper, 1, b0, 26) \
	FMLAE(upper, 1, b1, 27) \
	FMLAE(upper, 2, b0, 28) \
	FMLAE(upper, 2, b1, 29) \
	FMLAE(upper, 3, b0, 30) \
	FMLAE(upper, 3, b1, 31)

// ROWS does so for the columns of which V8 … V15 have a row of A each: element e is the one to multiply.
#define ROWS(e, b0, b1) \
	FMLAE(8, e, b0, 16)  \
	FMLAE(8, e, b1, 17)  \
	FMLAE(9, e, b0, 18)  \
	FMLAE(9, e, b1, 19)  \
	FMLAE(10, e, b0, 20) \
	FMLAE(10, e, b1, 21) \
	FMLAE(11, e, b0, 22) \
	FMLAE(11, e, b1, 23) \
	FMLAE(12, e, b0, 24) \
	FMLAE(12, e, b1, 25) \
	FMLAE(13, e, b0, 26) \
	FMLAE(13, e, b1, 27) \
	FMLAE(14, e, b0, 28) \
	FMLAE(14, e, b1, 29) \
	FMLAE(15, e, b0, 30) \
	FMLAE(15, e, b1, 31)

// EIGHT runs an operation on the registers of each of the tile's rows, by number and by name.
#define EIGHT(OP) \
	OP(16, 17, V16, V17) \
	OP(18, 19, V18, V19) \
	OP(20, 21, V20, V21) \
	OP(22, 23, V22, V23) \
	OP(24, 25, V24, V25) \
	OP(26, 27, V26, V27) \
	OP(28, 29, V28, V29) \
	OP(30, 31, V30, V31)

// FETCHROW asks for a row of C to write to. Another thread may have it from the last product.
#define FETCHROW(lo, hi, v, w) \
	PRFM (R7), PSTL1KEEP \
	ADD  R6, R7

#define CLEARROW(lo, hi, v, w) \
	VEOR v.B16, v.B16, v.B16 \
	VEOR w.B16, w.B16, w.B16

#define ADDROW(lo, hi, v, w) \
	VLD1.P (R7)(R6), [V0.S4, V1.S4] \
	FADD(0, lo, lo)                 \
	FADD(1, hi, hi)

#define STOREROW(lo, hi, v, w) VST1.P [v.S4, w.S4], (R5)(R6)

// func micro8x8(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
// A is read as it lies: along its columns if a row is 1 apart from the next, else along its rows, of which col is 1
// then.
TEXT ·micro8x8(SB), NOSPLIT, $0-113
	MOVD k+0(FP), R0
	MOVD a_base+8(FP), R8
	MOVD row+32(FP), R2
	MOVD col+40(FP), R3
	MOVD b_base+48(FP), R4
	MOVD ldb+72(FP), R1
	MOVD c_base+80(FP), R5
	MOVD ldc+104(FP), R6
	LSL  $2, R1
	LSL  $2, R6

	MOVD R5, R7
	EIGHT(FETCHROW)
	EIGHT(CLEARROW)

	CMP $1, R2
	BEQ columns

	// R8 … R15 point to the rows of A.
	ADD  R2<<2, R8, R9
	ADD  R2<<2, R9, R10
	ADD  R2<<2, R10, R11
	ADD  R2<<2, R11, R12
	ADD  R2<<2, R12, R13
	ADD  R2<<2, R13, R14
	ADD  R2<<2, R14, R15
	SUBS $4, R0
	BLT  rowsRest

rows4:
	FMOVQ.P 16(R8), F8
	FMOVQ.P 16(R9), F9
	FMOVQ.P 16(R10), F10
	FMOVQ.P 16(R11), F11
	FMOVQ.P 16(R12), F12
	FMOVQ.P 16(R13), F13
	FMOVQ.P 16(R14), F14
	FMOVQ.P 16(R15), F15
	VLD1.P  (R4)(R1), [V0.S4, V1.S4]
	VLD1.P  (R4)(R1), [V2.S4, V3.S4]
	VLD1.P  (R4)(R1), [V4.S4, V5.S4]
	VLD1.P  (R4)(R1), [V6.S4, V7.S4]
	ROWS(0, 0, 1)
	ROWS(1, 2, 3)
	ROWS(2, 4, 5)
	ROWS(3, 6, 7)
	SUBS $4, R0
	BGE  rows4

rowsRest:
	ADDS $4, R0
	BEQ  done

rows1:
	FMOVS.P 4(R8), F8
	FMOVS.P 4(R9), F9
	FMOVS.P 4(R10), F10
	FMOVS.P 4(R11), F11
	FMOVS.P 4(R12), F12
	FMOVS.P 4(R13), F13
	FMOVS.P 4(R14), F14
	FMOVS.P 4(R15), F15
	VLD1.P  (R4)(R1), [V0.S4, V1.S4]
	ROWS(0, 0, 1)
	SUBS $1, R0
	BNE  rows1
	B    done

columns:
	LSL  $2, R3
	SUBS $4, R0
	BLT  columnsRest

columns4:
	VLD1.P (R8)(R3), [V8.S4, V9.S4]
	VLD1.P (R8)(R3), [V10.S4, V11.S4]
	VLD1.P (R8)(R3), [V12.S4, V13.S4]
	VLD1.P (R8)(R3), [V14.S4, V15.S4]
	VLD1.P (R4)(R1), [V0.S4, V1.S4]
	VLD1.P (R4)(R1), [V2.S4, V3.S4]
	VLD1.P (R4)(R1), [V4.S4, V5.S4]
	VLD1.P (R4)(R1), [V6.S4, V7.S4]
	COLUMNS(8, 9, 0, 1)
	COLUMNS(10, 11, 2, 3)
	COLUMNS(12, 13, 4, 5)
	COLUMNS(14, 15, 6, 7)
	SUBS $4, R0
	BGE  columns4

columnsRest:
	ADDS $4, R0
	BEQ  done

columns1:
	VLD1.P (R8)(R3), [V8.S4, V9.S4]
	VLD1.P (R4)(R1), [V0.S4, V1.S4]
	COLUMNS(8, 9, 0, 1)
	SUBS $1, R0
	BNE  columns1

done:
	MOVBU accumulate+112(FP), R8
	CBZ   R8, store
	MOVD  R5, R7
	EIGHT(ADDROW)

store:
	EIGHT(STOREROW)
	RET
