#include "textflag.h"
#include "gemm_amd64.h"

// ROW adds to one row of the tile: a broadcast element of A times the 32 columns in Z0 and Z1.
#define ROW(addr, t, lo, hi) \
	VBROADCASTSS addr, t     \
	VFMADD231PS  Z0, t, lo   \
	VFMADD231PS  Z1, t, hi

// STEP adds one column of A times one row of the panel of B.
#define STEP(at) \
	VMOVUPS at, Z0    \
	VMOVUPS 64 at, Z1 \
	ROW((AX), Z2, Z16, Z17)         \
	ROW((AX)(R8*1), Z3, Z18, Z19)   \
	ROW((AX)(R8*2), Z4, Z20, Z21)   \
	ROW((R10), Z5, Z22, Z23)        \
	ROW((R10)(R8*1), Z6, Z24, Z25)  \
	ROW((R10)(R8*2), Z7, Z26, Z27)  \
	ROW((R11), Z8, Z28, Z29)        \
	ROW((R11)(R8*1), Z9, Z30, Z31)  \
	ADDQ R9, AX  \
	ADDQ R9, R10 \
	ADDQ R9, R11

#define ADDROW(lo, hi) \
	VADDPS (DI), lo, lo   \
	VADDPS 64(DI), hi, hi \
	ADDQ   DX, DI

#define STOREROW(lo, hi) \
	VMOVUPS lo, (DI)   \
	VMOVUPS hi, 64(DI) \
	ADDQ    DX, DI

// FETCHROW asks for a row of C to write to: PREFETCHW (DI), PREFETCHW 127(DI). Another thread may have it from the last product.
#define FETCHROW(lo, hi) \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x4f; BYTE $0x7f \
	ADDQ DX, DI

#define CLEARROW(lo, hi) \
	VPXORQ lo, lo, lo \
	VPXORQ hi, hi, hi

// EIGHT are the rows of the tile, of 32 columns.
#define EIGHT(OP) \
	OP(Z16, Z17) \
	OP(Z18, Z19) \
	OP(Z20, Z21) \
	OP(Z22, Z23) \
	OP(Z24, Z25) \
	OP(Z26, Z27) \
	OP(Z28, Z29) \
	OP(Z30, Z31)

#define POINT \
	LEAQ (R8)(R8*2), R10   \
	LEAQ (AX)(R10*2), R11  \
	ADDQ AX, R10

// func micro8x32(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
MICRO(·micro8x32, EIGHT, FETCHROW, POINT, CLEARROW, STEP, ADDROW, STOREROW)

// LOWSTEP is STEP for two rows.
#define LOWSTEP(at) \
	VMOVUPS at, Z0    \
	VMOVUPS 64 at, Z1 \
	ROW((AX), Z2, Z16, Z17)       \
	ROW((AX)(R8*1), Z3, Z18, Z19) \
	ADDQ R9, AX

#define TWO(OP) \
	OP(Z16, Z17) \
	OP(Z18, Z19)

#define NOPOINT

// func micro2x32(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
MICRO(·micro2x32, TWO, FETCHROW, NOPOINT, CLEARROW, LOWSTEP, ADDROW, STOREROW)

// HALFSTEP is STEP for 16 columns.
#define HALFSTEP(at) \
	VMOVUPS at, Z0                              \
	VFMADD231PS.BCST (AX), Z0, Z16              \
	VFMADD231PS.BCST (AX)(R8*1), Z0, Z17        \
	VFMADD231PS.BCST (AX)(R8*2), Z0, Z18        \
	VFMADD231PS.BCST (R10), Z0, Z19             \
	VFMADD231PS.BCST (R10)(R8*1), Z0, Z20       \
	VFMADD231PS.BCST (R10)(R8*2), Z0, Z21       \
	VFMADD231PS.BCST (R11), Z0, Z22             \
	VFMADD231PS.BCST (R11)(R8*1), Z0, Z23       \
	ADDQ R9, AX  \
	ADDQ R9, R10 \
	ADDQ R9, R11

#define ADDHALF(sum) \
	VADDPS (DI), sum, sum \
	ADDQ   DX, DI

#define STOREHALF(sum) \
	VMOVUPS sum, (DI) \
	ADDQ    DX, DI

// FETCHHALF asks for a row of C to write to: PREFETCHW (DI).
#define FETCHHALF(sum) \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	ADDQ DX, DI

#define CLEARHALF(sum) VPXORQ sum, sum, sum

#define EIGHTHALVES(OP) \
	OP(Z16) \
	OP(Z17) \
	OP(Z18) \
	OP(Z19) \
	OP(Z20) \
	OP(Z21) \
	OP(Z22) \
	OP(Z23)

// func micro8x16(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)
MICRO(·micro8x16, EIGHTHALVES, FETCHHALF, POINT, CLEARHALF, HALFSTEP, ADDHALF, STOREHALF)
