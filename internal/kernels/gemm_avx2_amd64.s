#include "textflag.h"

// ROW adds to one row of the tile: a broadcast element of A times the 16 columns in Y0 and Y1.
#define ROW(addr, t, lo, hi) \
	VBROADCASTSS addr, t     \
	VFMADD231PS  Y0, t, lo   \
	VFMADD231PS  Y1, t, hi

// STEP adds one column of A times one row of the panel of B.
#define STEP(off) \
	VMOVUPS off(BX), Y0       \
	VMOVUPS (off+32)(BX), Y1  \
	ROW((AX), Y2, Y4, Y5)          \
	ROW((AX)(R8*1), Y3, Y6, Y7)    \
	ROW((AX)(R8*2), Y2, Y8, Y9)    \
	ROW((R10), Y3, Y10, Y11)       \
	ROW((R10)(R8*1), Y2, Y12, Y13) \
	ROW((R10)(R8*2), Y3, Y14, Y15) \
	ADDQ R9, AX  \
	ADDQ R9, R10

#define ADDROW(lo, hi) \
	VADDPS (DI), lo, lo   \
	VADDPS 32(DI), hi, hi \
	ADDQ   DX, DI

#define STOREROW(lo, hi) \
	VMOVUPS lo, (DI)   \
	VMOVUPS hi, 32(DI) \
	ADDQ    DX, DI

// FETCHROW asks for a row of C to write to: PREFETCHW (DI), PREFETCHW 63(DI). Another thread may have it from the last product.
#define FETCHROW \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x4f; BYTE $0x3f \
	ADDQ DX, DI

// func micro6x16(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
TEXT ·micro6x16(SB), NOSPLIT, $0-105
	MOVQ k+0(FP), CX
	MOVQ a_base+8(FP), AX
	MOVQ row+32(FP), R8
	MOVQ col+40(FP), R9
	MOVQ b_base+48(FP), BX
	MOVQ c_base+72(FP), DI
	MOVQ ldc+96(FP), DX
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $2, DX

	FETCHROW
	FETCHROW
	FETCHROW
	FETCHROW
	FETCHROW
	FETCHROW

	// AX and R10 point to rows 0 and 3 of A.
	LEAQ (R8)(R8*2), R10
	ADDQ AX, R10

	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	VXORPS Y12, Y12, Y12
	VXORPS Y13, Y13, Y13
	VXORPS Y14, Y14, Y14
	VXORPS Y15, Y15, Y15

	SUBQ $4, CX
	JLT  rest

loop4:
	STEP(0)
	STEP(64)
	STEP(128)
	STEP(192)
	ADDQ $256, BX
	SUBQ $4, CX
	JGE  loop4

rest:
	ADDQ $4, CX
	JZ   done

loop1:
	STEP(0)
	ADDQ $64, BX
	DECQ CX
	JNZ  loop1

done:
	MOVQ    c_base+72(FP), DI
	MOVBLZX accumulate+104(FP), AX
	TESTL   AX, AX
	JZ      store
	ADDROW(Y4, Y5)
	ADDROW(Y6, Y7)
	ADDROW(Y8, Y9)
	ADDROW(Y10, Y11)
	ADDROW(Y12, Y13)
	ADDROW(Y14, Y15)
	MOVQ    c_base+72(FP), DI

store:
	STOREROW(Y4, Y5)
	STOREROW(Y6, Y7)
	STOREROW(Y8, Y9)
	STOREROW(Y10, Y11)
	STOREROW(Y12, Y13)
	STOREROW(Y14, Y15)
	VZEROUPPER
	RET
