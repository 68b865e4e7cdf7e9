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

// The functions, which return behind their loops. FRAME is the size of what they are given, and PRE sets V8 and V9.

// UNARYFUNC is func(dst, x []float32, …).
#define UNARYFUNC(NAME, FRAME, PRE, OP) \
TEXT NAME(SB), NOSPLIT, $0-FRAME \
	MOVQ dst_base+0(FP), DI \
	MOVQ x_base+24(FP), SI  \
	MOVQ x_len+32(FP), CX   \
	PRE                     \
	UNARY(OP)

// GRADFUNC is func(dst, x, y []float32, …, accumulate bool), whose last is at FLAG.
#define GRADFUNC(NAME, FRAME, FLAG, PRE, OP) \
TEXT NAME(SB), NOSPLIT, $0-FRAME \
	MOVQ dst_base+0(FP), DI  \
	MOVQ dst_len+8(FP), CX   \
	MOVQ x_base+24(FP), SI   \
	MOVQ y_base+48(FP), DX   \
	MOVBLZX accumulate+FLAG(FP), R8 \
	PRE                      \
	GRAD(OP)

// ADDFUNC is func(dst, x, y []float32).
#define ADDFUNC(NAME) \
TEXT NAME(SB), NOSPLIT, $0-72 \
	MOVQ dst_base+0(FP), DI \
	MOVQ dst_len+8(FP), CX  \
	MOVQ x_base+24(FP), SI  \
	MOVQ y_base+48(FP), DX  \
	BINARY(ADD)

// AXPYFUNC is func(alpha float32, x, y []float32).
#define AXPYFUNC(NAME) \
TEXT NAME(SB), NOSPLIT, $0-56 \
	VBROADCASTSS alpha+0(FP), V8 \
	MOVQ x_base+8(FP), SI  \
	MOVQ y_base+32(FP), DX \
	MOVQ y_len+40(FP), CX  \
	MOVQ DX, DI            \
	BINARY(AXPY)

// BEYONDFUNC is func(alpha float32, dst, from, x []float32).
#define BEYONDFUNC(NAME) \
TEXT NAME(SB), NOSPLIT, $0-80 \
	VBROADCASTSS alpha+0(FP), V8 \
	MOVQ dst_base+8(FP), DI   \
	MOVQ from_base+32(FP), DX \
	MOVQ x_base+56(FP), SI    \
	MOVQ x_len+64(FP), CX     \
	BINARY(BEYOND)

#define NOTHING
#define ZERO   VXORPS V9, V9, V9
#define ONE9   ONE(V9)
#define SHIFT  VBROADCASTSS shift+48(FP), V8
#define DOT    VBROADCASTSS dot+72(FP), V8

#define LESSFACTOR \
	VBROADCASTSS less+48(FP), V9 \
	VBROADCASTSS factor+52(FP), V8
