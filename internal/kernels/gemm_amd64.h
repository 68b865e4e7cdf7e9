// The micro-kernel of products, for both instruction sets: a tile of C in registers, to which each STEP adds one column of
// A times one row of the panel of B.
//
//	AX, R10, R11   rows 0, 3 and 6 of A's column; R8 and R9 are the bytes to the next row and column
//	BX             the panel's row, of BYTES
//	DI             a row of C; DX are the bytes to the next

// MICRO is func(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool). ROWS runs an operation on
// the registers of each of the tile's rows, and POINT sets R10 and R11.
#define MICRO(NAME, ROWS, FETCH, POINT, CLEAR, STEP, BYTES, ADD, STORE) \
TEXT NAME(SB), NOSPLIT, $0-105 \
	MOVQ k+0(FP), CX       \
	MOVQ a_base+8(FP), AX  \
	MOVQ row+32(FP), R8    \
	MOVQ col+40(FP), R9    \
	MOVQ b_base+48(FP), BX \
	MOVQ c_base+72(FP), DI \
	MOVQ ldc+96(FP), DX    \
	SHLQ $2, R8            \
	SHLQ $2, R9            \
	SHLQ $2, DX            \
	ROWS(FETCH)            \
	POINT                  \
	ROWS(CLEAR)            \
	SUBQ $4, CX            \
	JLT  rest              \
loop4:                     \
	STEP(0)                \
	STEP(BYTES)            \
	STEP(2*BYTES)          \
	STEP(3*BYTES)          \
	ADDQ $(4*BYTES), BX    \
	SUBQ $4, CX            \
	JGE  loop4             \
rest:                      \
	ADDQ $4, CX            \
	JZ   done              \
loop1:                     \
	STEP(0)                \
	ADDQ $BYTES, BX        \
	DECQ CX                \
	JNZ  loop1             \
done:                      \
	MOVQ    c_base+72(FP), DI \
	MOVBLZX accumulate+104(FP), AX \
	TESTL   AX, AX         \
	JZ      store          \
	ROWS(ADD)              \
	MOVQ    c_base+72(FP), DI \
store:                     \
	ROWS(STORE)            \
	VZEROUPPER             \
	RET
