// The loop of Adam, for both instruction sets. The files that include it define V0 to V5 and V8 to V13, vector registers of
// WIDTH bytes.
//
// Slices: DI w, SI g, R8 m, R10 v; CX elements are left. Every product is rounded before it is added, as in Go.

#define LANES (WIDTH/4)

#define ARGUMENTS \
	MOVQ         w_base+0(FP), DI  \
	MOVQ         w_len+8(FP), CX   \
	MOVQ         g_base+24(FP), SI \
	MOVQ         m_base+48(FP), R8 \
	MOVQ         v_base+72(FP), R10 \
	VBROADCASTSS b1+96(FP), V8     \
	VBROADCASTSS c1+100(FP), V9    \
	VBROADCASTSS b2+104(FP), V10   \
	VBROADCASTSS c2+108(FP), V11   \
	VBROADCASTSS rate+112(FP), V12 \
	VBROADCASTSS eps+116(FP), V13

// UPDATE gives from g, m, v and w in V0 to V3 the new m, v and w in V1 to V3.
#define UPDATE \
	VMULPS  V8, V1, V1  \
	VMULPS  V9, V0, V4  \
	VADDPS  V4, V1, V1  \
	VMULPS  V10, V2, V2 \
	VMULPS  V11, V0, V4 \
	VMULPS  V0, V4, V4  \
	VADDPS  V4, V2, V2  \
	VSQRTPS V2, V5      \
	VADDPS  V13, V5, V5 \
	VDIVPS  V5, V1, V5  \
	VMULPS  V12, V5, V5 \
	VSUBPS  V5, V3, V3

// VECTORS updates what fills whole vectors; CX+LANES elements are left then.
#define VECTORS \
	SUBQ $LANES, CX   \
	JLT  last         \
loop:                 \
	VMOVUPS (SI), V0  \
	VMOVUPS (R8), V1  \
	VMOVUPS (R10), V2 \
	VMOVUPS (DI), V3  \
	UPDATE            \
	VMOVUPS V1, (R8)  \
	VMOVUPS V2, (R10) \
	VMOVUPS V3, (DI)  \
	ADDQ $WIDTH, SI   \
	ADDQ $WIDTH, R8   \
	ADDQ $WIDTH, R10  \
	ADDQ $WIDTH, DI   \
	SUBQ $LANES, CX   \
	JGE  loop         \
last:
