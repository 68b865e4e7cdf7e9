// Inner loops over vectors, for both instruction sets: a file that includes this defines before what differs.
//
//	V0 … V15               vector registers of WIDTH bytes
//	TAILMASK               makes the mask of the first CX elements; clobbers R9 and V15
//	LOADTAIL, STORETAIL    move the elements under the mask; a load gives zeros elsewhere
//	POSITIVE(y, x, z)      z = x where y is positive or NaN, else 0
//	BYSIGN(s, neg, pos, z) z = neg where s has its sign bit set, else pos
//	LESS(x, y, yes, no, z) z = yes where x < y, else no
//	SCALE(n, x)            x *= 2ⁿ, n being a vector of whole floats; clobbers n, V2 and V4
//
// Slices: DI dst, SI x, DX y; CX elements are left. Loops leave V5 and V8 … V14 to their operation. An operation's vectors
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

// FOLD gathers V10 … V13 by OP(n, acc), where n is WIDTH times a number: OP takes what is n bytes after SI and DX into acc.
// Four vectors at a time, then one. What is left is for the tail, which follows.
#define FOLD(OP) \
	SUBQ $(4*LANES), CX \
	JLT  single         \
loop:                   \
	OP(0*WIDTH, V10)    \
	OP(1*WIDTH, V11)    \
	OP(2*WIDTH, V12)    \
	OP(3*WIDTH, V13)    \
	ADDQ $(4*WIDTH), SI \
	ADDQ $(4*WIDTH), DX \
	SUBQ $(4*LANES), CX \
	JGE  loop           \
single:                 \
	ADDQ $(3*LANES), CX \
	JLT  tail           \
loop1:                  \
	OP(0*WIDTH, V10)    \
	ADDQ $WIDTH, SI     \
	ADDQ $WIDTH, DX     \
	SUBQ $LANES, CX     \
	JGE  loop1          \
tail:                   \
	ADDQ $LANES, CX

#define ZERO4 \
	VXORPS V10, V10, V10 \
	VXORPS V11, V11, V11 \
	VXORPS V12, V12, V12 \
	VXORPS V13, V13, V13

// TOTAL adds up V10 … V13 and leaves the sum in X0.
#define TOTAL \
	VADDPS V11, V10, V10 \
	VADDPS V13, V12, V12 \
	VADDPS V12, V10, V0  \
	NARROW(VADDPS)       \
	VEXTRACTF128 $1, Y0, X1 \
	VADDPS    X1, X0, X0 \
	VMOVHLPS  X0, X0, X1 \
	VADDPS    X1, X0, X0 \
	VMOVSHDUP X0, X1     \
	VADDSS    X1, X0, X0

#define DOT(off, acc) \
	VMOVUPS off(SI), V0 \
	VFMADD231PS off(DX), V0, acc

#define SUM(off, acc) VADDPS off(SI), acc, acc

// Simple operations. V8 holds the scalar argument, if there is one.
#define ADD    VADDPS V1, V0, V0
#define MUL    VMULPS V1, V0, V0
#define SCALED VMULPS V8, V0, V0
#define AXPY   VFMADD132PS V8, V1, V0

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
