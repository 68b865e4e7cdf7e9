// Inner loops over vectors, for both instruction sets. What differs between them is in avx2_amd64.h and avx512_amd64.h:
//
//	V0 … V15               vector registers of WIDTH bytes
//	TAILMASK               makes the mask of the first CX elements; clobbers R9 and V15
//	LOADTAIL, STORETAIL    move the elements under the mask; a load gives zeros elsewhere
//	POSITIVE(y, x, z)      z = x where y is positive or NaN, else 0; V9 is 0, clobbers V5
//	BYSIGN(s, neg, pos, z) z = neg where s has its sign bit set, else pos
//	LESS(x, y, yes, no, z) z = yes where x < y, else no; clobbers V5
//	SCALE(n, x)            x *= 2ⁿ, n being a vector of whole floats; clobbers n, V2 and V4
//
// Slices: DI dst, SI x, DX y; CX elements are left. Loops themselves use V0, V1 and, in the tail, V15. An operation's vectors
// have zeros, and its result is dropped, where a slice has ended.

#define LANES (WIDTH/4)

// UNARY runs OP on V0, from SI to DI.
#define UNARY(OP) \
	SUBQ $LANES, CX  \
	JLT  tail        \
loop:                \
	VMOVUPS (SI), V0 \
	OP               \
	VMOVUPS V0, (DI) \
	ADDQ $WIDTH, SI  \
	ADDQ $WIDTH, DI  \
	SUBQ $LANES, CX  \
	JGE  loop        \
tail:                \
	ADDQ $LANES, CX  \
	JZ   done        \
	TAILMASK         \
	LOADTAIL(SI, V0) \
	OP               \
	STORETAIL(V0, DI) \
done:                \
	VZEROUPPER       \
	RET

// BINARY runs OP on V0 and V1, from SI and DX; its result V0 goes to DI.
#define BINARY(OP) \
	SUBQ $LANES, CX  \
	JLT  tail        \
loop:                \
	VMOVUPS (SI), V0 \
	VMOVUPS (DX), V1 \
	OP               \
	VMOVUPS V0, (DI) \
	ADDQ $WIDTH, SI  \
	ADDQ $WIDTH, DX  \
	ADDQ $WIDTH, DI  \
	SUBQ $LANES, CX  \
	JGE  loop        \
tail:                \
	ADDQ $LANES, CX  \
	JZ   done        \
	TAILMASK         \
	LOADTAIL(SI, V0) \
	LOADTAIL(DX, V1) \
	OP               \
	STORETAIL(V0, DI) \
done:                \
	VZEROUPPER       \
	RET

// GRAD is BINARY for gradients: what is at DI is added to the result if R8 is not 0.
#define GRAD(OP) \
	SUBQ  $LANES, CX  \
	JLT   tail        \
loop:                 \
	VMOVUPS (SI), V0  \
	VMOVUPS (DX), V1  \
	OP                \
	TESTL R8, R8      \
	JZ    put         \
	VADDPS (DI), V0, V0 \
put:                  \
	VMOVUPS V0, (DI)  \
	ADDQ  $WIDTH, SI  \
	ADDQ  $WIDTH, DX  \
	ADDQ  $WIDTH, DI  \
	SUBQ  $LANES, CX  \
	JGE   loop        \
tail:                 \
	ADDQ  $LANES, CX  \
	JZ    done        \
	TAILMASK          \
	LOADTAIL(SI, V0)  \
	LOADTAIL(DX, V1)  \
	OP                \
	TESTL R8, R8      \
	JZ    putTail     \
	LOADTAIL(DI, V1)  \
	VADDPS V1, V0, V0 \
putTail:              \
	STORETAIL(V0, DI) \
done:                 \
	VZEROUPPER        \
	RET

// Simple operations. V8 holds the scalar argument, if there is one.
#define ADD    VADDPS V1, V0, V0
#define MUL    VMULPS V1, V0, V0
#define AXPY   VFMADD132PS V8, V1, V0

// SCALED: (V0−V9)·V8
#define SCALED \
	VSUBPS V9, V0, V0 \
	VMULPS V8, V0, V0

// BEYOND: V0 + V8·(V0−V1)
#define BEYOND \
	VSUBPS V1, V0, V2 \
	VFMADD231PS V2, V8, V0

// RELU: of two numbers of which one is NaN, VMAXPS gives Go's first.
#define RELU VMAXPS V0, V9, V0

#define RELUGRAD POSITIVE(V0, V1, V0)

// SIGMOIDGRAD: V1·V0·(1−V0), V9 being 1.
#define SIGMOIDGRAD \
	VSUBPS V0, V9, V2 \
	VMULPS V0, V1, V0 \
	VMULPS V2, V0, V0

// TANHGRAD: V1·(1−V0²), V9 being 1.
#define TANHGRAD \
	VMOVAPS V9, V2 \
	VFNMADD231PS V0, V0, V2 \
	VMULPS V1, V2, V0

// SOFTMAXGRAD: V0·(V1−V8).
#define SOFTMAXGRAD \
	VSUBPS V8, V1, V1 \
	VMULPS V1, V0, V0
