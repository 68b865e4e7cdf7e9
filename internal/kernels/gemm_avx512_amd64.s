#include "textflag.h"

// ROW adds to one row of the tile: a broadcast element of A times the 32 columns in Z0 and Z1.
#define ROW(addr, t, lo, hi) \
	VBROADCASTSS addr, t     \
	VFMADD231PS  Z0, t, lo   \
	VFMADD231PS  Z1, t, hi

// STEP adds one column of A times one row of the panel of B.
#define STEP(off) \
	VMOVUPS off(BX), Z0        \
	VMOVUPS (off+64)(BX), Z1   \
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
#define FETCHROW \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x4f; BYTE $0x7f \
	ADDQ DX, DI

// func micro8x32(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
TEXT ·micro8x32(SB), NOSPLIT, $0-105
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
	FETCHROW
	FETCHROW

	// AX, R10 and R11 point to rows 0, 3 and 6 of A.
	LEAQ (R8)(R8*2), R10
	LEAQ (AX)(R10*2), R11
	ADDQ AX, R10

	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23
	VPXORQ Z24, Z24, Z24
	VPXORQ Z25, Z25, Z25
	VPXORQ Z26, Z26, Z26
	VPXORQ Z27, Z27, Z27
	VPXORQ Z28, Z28, Z28
	VPXORQ Z29, Z29, Z29
	VPXORQ Z30, Z30, Z30
	VPXORQ Z31, Z31, Z31

	SUBQ $4, CX
	JLT  rest

loop4:
	STEP(0)
	STEP(128)
	STEP(256)
	STEP(384)
	ADDQ $512, BX
	SUBQ $4, CX
	JGE  loop4

rest:
	ADDQ $4, CX
	JZ   done

loop1:
	STEP(0)
	ADDQ $128, BX
	DECQ CX
	JNZ  loop1

done:
	MOVQ    c_base+72(FP), DI
	MOVBLZX accumulate+104(FP), AX
	TESTL   AX, AX
	JZ      store
	ADDROW(Z16, Z17)
	ADDROW(Z18, Z19)
	ADDROW(Z20, Z21)
	ADDROW(Z22, Z23)
	ADDROW(Z24, Z25)
	ADDROW(Z26, Z27)
	ADDROW(Z28, Z29)
	ADDROW(Z30, Z31)
	MOVQ    c_base+72(FP), DI

store:
	STOREROW(Z16, Z17)
	STOREROW(Z18, Z19)
	STOREROW(Z20, Z21)
	STOREROW(Z22, Z23)
	STOREROW(Z24, Z25)
	STOREROW(Z26, Z27)
	STOREROW(Z28, Z29)
	STOREROW(Z30, Z31)
	VZEROUPPER
	RET

// HALFSTEP is STEP for 16 columns.
#define HALFSTEP(off) \
	VMOVUPS off(BX), Z0                         \
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
#define FETCHHALF \
	BYTE $0x0f; BYTE $0x0d; BYTE $0x0f \
	ADDQ DX, DI

// func micro8x16(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
TEXT ·micro8x16(SB), NOSPLIT, $0-105
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

	FETCHHALF
	FETCHHALF
	FETCHHALF
	FETCHHALF
	FETCHHALF
	FETCHHALF
	FETCHHALF
	FETCHHALF

	// AX, R10 and R11 point to rows 0, 3 and 6 of A.
	LEAQ (R8)(R8*2), R10
	LEAQ (AX)(R10*2), R11
	ADDQ AX, R10

	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23

	SUBQ $4, CX
	JLT  rest

loop4:
	HALFSTEP(0)
	HALFSTEP(64)
	HALFSTEP(128)
	HALFSTEP(192)
	ADDQ $256, BX
	SUBQ $4, CX
	JGE  loop4

rest:
	ADDQ $4, CX
	JZ   done

loop1:
	HALFSTEP(0)
	ADDQ $64, BX
	DECQ CX
	JNZ  loop1

done:
	MOVQ    c_base+72(FP), DI
	MOVBLZX accumulate+104(FP), AX
	TESTL   AX, AX
	JZ      store
	ADDHALF(Z16)
	ADDHALF(Z17)
	ADDHALF(Z18)
	ADDHALF(Z19)
	ADDHALF(Z20)
	ADDHALF(Z21)
	ADDHALF(Z22)
	ADDHALF(Z23)
	MOVQ    c_base+72(FP), DI

store:
	STOREHALF(Z16)
	STOREHALF(Z17)
	STOREHALF(Z18)
	STOREHALF(Z19)
	STOREHALF(Z20)
	STOREHALF(Z21)
	STOREHALF(Z22)
	STOREHALF(Z23)
	VZEROUPPER
	RET
