#include "textflag.h"
#include "gemm_amd64.h"

// ROW adds to one row of the tile: a broadcast element of A times the 16 columns in Y0 and Y1.
#define ROW(addr, t, lo, hi) \
	VBROADCASTSS addr, t     \
	VFMADD231PS  Y0, t, lo   \
	VFMADD231PS  Y1, t, hi

// STEP adds one column of A times one row of the panel of B.
#define STEP(at) \
	VMOVUPS at, Y0    \
	VMOVUPS 32 at, Y1 \
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
#define FETCHROW(lo, hi) \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x4f; BYTE $0x3f \
	ADDQ DX, DI

#define CLEARROW(lo, hi) \
	VXORPS lo, lo, lo \
	VXORPS hi, hi, hi

#define SIX(OP) \
	OP(Y4, Y5)   \
	OP(Y6, Y7)   \
	OP(Y8, Y9)   \
	OP(Y10, Y11) \
	OP(Y12, Y13) \
	OP(Y14, Y15)

#define POINT \
	LEAQ (R8)(R8*2), R10 \
	ADDQ AX, R10

// func micro6x16(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
MICRO(·micro6x16, SIX, FETCHROW, POINT, CLEARROW, STEP, ADDROW, STOREROW)
