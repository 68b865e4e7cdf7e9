// Moves of rows, for both instruction sets; see vector_amd64.h for the vocabulary.
//
// BX and DI point to rows of the table and of the batch, R8 bytes each, of which R13 bytes fill vectors and the rest is under
// the mask V15 or K1. R10 points to the index, of which R11 are left.

// ROWSTART works out how rows divide into vectors; the dimension is in CX.
#define ROWSTART \
	MOVQ CX, R8           \
	SHLQ $2, R8           \
	MOVQ R8, R13          \
	ANDQ $~(WIDTH-1), R13 \
	ANDQ $(WIDTH/4-1), CX \
	TAILMASK              \
	TESTQ R11, R11        \
	JZ   done

// ROWS runs VECTOR on each vector of a row, AX bytes from its start, and TAIL on what is left.
#define ROWS(VECTOR, TAIL) \
next:                  \
	MOVLQSX (R10), R12 \
	IMULQ R8, R12      \
	LEAQ (SI)(R12*1), BX \
	XORQ AX, AX        \
	CMPQ AX, R13       \
	JEQ  tail          \
vector:                \
	VECTOR             \
	ADDQ $WIDTH, AX    \
	CMPQ AX, R13       \
	JLT  vector        \
tail:                  \
	CMPQ AX, R8        \
	JEQ  moved         \
	ADDQ AX, BX        \
	LEAQ (DI)(AX*1), DX \
	TAIL               \
moved:                 \
	ADDQ R8, DI        \
	ADDQ $4, R10       \
	DECQ R11           \
	JNZ  next          \
done:                  \
	VZEROUPPER         \
	RET

#define GATHER \
	VMOVUPS (BX)(AX*1), V0 \
	VMOVUPS V0, (DI)(AX*1)

#define GATHERTAIL \
	LOADTAIL(BX, V0) \
	STORETAIL(V0, DX)

#define SCATTER \
	VMOVUPS (BX)(AX*1), V0     \
	VADDPS  (DI)(AX*1), V0, V0 \
	VMOVUPS V0, (BX)(AX*1)

#define SCATTERTAIL \
	LOADTAIL(BX, V0)  \
	LOADTAIL(DX, V1)  \
	VADDPS V1, V0, V0 \
	STORETAIL(V0, BX)

// ROWSFUNC is func(dst, src []float32, dim int, index []int32); TABLE and BATCH are where these begin.
#define ROWSFUNC(NAME, TABLE, BATCH, VECTOR, TAIL) \
TEXT NAME(SB), NOSPLIT, $0-80 \
	MOVQ TABLE, SI             \
	MOVQ BATCH, DI             \
	MOVQ dim+48(FP), CX        \
	MOVQ index_base+56(FP), R10 \
	MOVQ index_len+64(FP), R11 \
	ROWSTART                   \
	ROWS(VECTOR, TAIL)
