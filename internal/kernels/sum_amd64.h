// Loops that make one number of slices: FOLD(OP, TAIL) runs OP(n, a, b) over 64 bytes at a time, n bytes after SI and DX, and
// TAIL for the CX elements that are left at the end, between 1 and 15. Both instruction sets gather the same sixteen lanes in
// each of four places, and so give the same bits: in A0 … A3 for AVX-512, lower lanes in A0 … A3 and upper ones in B0 … B3 for
// AVX2.

#define A0 V8
#define A1 V9
#define A2 V10
#define A3 V11
#define B0 V4
#define B1 V5
#define B2 V6
#define B3 V7

// CLEAR starts sums.
#define CLEAR \
	VXORPS A0, A0, A0 \
	VXORPS A1, A1, A1 \
	VXORPS A2, A2, A2 \
	VXORPS A3, A3, A3 \
	VXORPS B0, B0, B0 \
	VXORPS B1, B1, B1 \
	VXORPS B2, B2, B2 \
	VXORPS B3, B3, B3

#define FOLD(OP, TAIL) \
	SUBQ $64, CX     \
	JLT  single      \
loop:                \
	OP(0, A0, B0)    \
	OP(64, A1, B1)   \
	OP(128, A2, B2)  \
	OP(192, A3, B3)  \
	ADDQ $256, SI    \
	ADDQ $256, DX    \
	SUBQ $64, CX     \
	JGE  loop        \
single:              \
	ADDQ $48, CX     \
	JLT  tail        \
loop1:               \
	OP(0, A0, B0)    \
	ADDQ $64, SI     \
	ADDQ $64, DX     \
	SUBQ $16, CX     \
	JGE  loop1       \
tail:                \
	ADDQ $16, CX     \
	JZ   finish      \
	TAIL             \
finish:

// FINISH makes one number of the four places, by the same operation in its packed and its scalar form, in X0.
#define FINISH(PACKED, SCALAR) \
	JOIN(PACKED)            \
	VEXTRACTF128 $1, Y0, X1 \
	PACKED    X1, X0, X0    \
	VMOVHLPS  X0, X0, X1    \
	PACKED    X1, X0, X0    \
	VMOVSHDUP X0, X1        \
	SCALAR    X1, X0, X0    \
	VZEROUPPER

DATA lowest<>+0(SB)/4, $0xff800000 // −Inf
GLOBL lowest<>(SB), RODATA|NOPTR, $4
#define LOWEST(v) VBROADCASTSS lowest<>+0(SB), v
