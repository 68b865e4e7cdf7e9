// The micro-kernel of products, for both instruction sets: a tile of C in registers, to which each STEP adds one column of
// A times one row of the panel of B.
//
//	AX, R10, R11   rows 0, 3 and 6 of A's column; R8 and R9 are the bytes to the next row and column
//	BX, R13        the panel's row, and the third behind it; R12 are the bytes to the next
//	DI             a row of C; DX are the bytes to the next

// MICRO is a tileFunc. ROWS runs an operation on the registers of each of the tile's rows, and POINT sets R10 and R11.
#define MICRO(NAME, ROWS, FETCH, POINT, CLEAR, STEP, ADD, STORE) \
TEXT NAME(SB), NOSPLIT, $0-113 \
	MOVQ k+0(FP), CX       \
	MOVQ a_base+8(FP), AX  \
	MOVQ row+32(FP), R8    \
	MOVQ col+40(FP), R9    \
	MOVQ b_base+48(FP), BX \
	MOVQ ldb+72(FP), R12   \
	MOVQ c_base+80(FP), DI \
	MOVQ ldc+104(FP), DX   \
	SHLQ $2, R8            \
	SHLQ $2, R9            \
	SHLQ $2, R12           \
	SHLQ $2, DX            \
	LEAQ (R12)(R12*2), R13 \
	ADDQ BX, R13           \
	ROWS(FETCH)            \
	POINT                  \
	ROWS(CLEAR)            \
	SUBQ $4, CX            \
	JLT  rest              \
loop4:                     \
	STEP((BX))             \
	STEP((BX)(R12*1))      \
	STEP((BX)(R12*2))      \
	STEP((R13))            \
	LEAQ (BX)(R12*4), BX   \
	LEAQ (R13)(R12*4), R13 \
	SUBQ $4, CX            \
	JGE  loop4             \
rest:                      \
	ADDQ $4, CX            \
	JZ   done              \
loop1:                     \
	STEP((BX))             \
	ADDQ R12, BX           \
	DECQ CX                \
	JNZ  loop1             \
done:                      \
	MOVQ    c_base+80(FP), DI \
	MOVBLZX accumulate+112(FP), AX \
	TESTL   AX, AX         \
	JZ      store          \
	ROWS(ADD)              \
	MOVQ    c_base+80(FP), DI \
store:                     \
	ROWS(STORE)            \
	VZEROUPPER             \
	RET
