// The exponential function and what is made of it, on a vector V0; see vector_amd64.h for the macros used here.
//
// eˣ = 2ⁿ·eʳ with n = round(x/ln 2) and |r| ≤ ln 2/2; eʳ = 1 + r + r²·q(r), where q interpolates at the Chebyshev nodes. ln 2
// comes in two parts, of which n times the first is exact.

DATA exps<>+0(SB)/4, $89.0                  // above this eˣ overflows
DATA exps<>+4(SB)/4, $(-104.0)              // below this it is 0
DATA exps<>+8(SB)/4, $1.44269504088896340736 // 1/ln 2
DATA exps<>+12(SB)/4, $12582912.0           // 1.5·2²³: adding it rounds to a whole number
DATA exps<>+16(SB)/4, $0.693359375          // ln 2, upper part
DATA exps<>+20(SB)/4, $(-2.1219444e-4)      // and lower
DATA exps<>+24(SB)/4, $0.0013926176
DATA exps<>+28(SB)/4, $0.008363173
DATA exps<>+32(SB)/4, $0.041666556
DATA exps<>+36(SB)/4, $0.16666578
DATA exps<>+40(SB)/4, $0.5
DATA exps<>+44(SB)/4, $1.0
DATA exps<>+48(SB)/4, $2.0
DATA exps<>+52(SB)/4, $0x80000000           // the sign bit
DATA exps<>+56(SB)/4, $0.625
DATA exps<>+60(SB)/4, $(-0.0060967142)      // (tanh √u/√u − 1)/u on [0, 0.625²], from the highest power down
DATA exps<>+64(SB)/4, $0.02099718
DATA exps<>+68(SB)/4, $(-0.053850908)
DATA exps<>+72(SB)/4, $0.13332769
DATA exps<>+76(SB)/4, $(-0.33333328)
GLOBL exps<>(SB), RODATA|NOPTR, $80

#define ONE(v)  VBROADCASTSS exps<>+44(SB), v
#define TWO(v)  VBROADCASTSS exps<>+48(SB), v
#define SIGN(v) VBROADCASTSS exps<>+52(SB), v

// TERM is a step of Horner's rule: p = p·x + the constant; clobbers V4.
#define TERM(const, x, p) \
	VBROADCASTSS const, V4 \
	VFMADD213PS  V4, x, p

// EXP: V0 = eᵛ⁰; clobbers V1 … V4. Limits are applied so that a NaN stays.
#define EXP \
	VBROADCASTSS exps<>+0(SB), V4  \
	VMINPS       V0, V4, V0        \
	VBROADCASTSS exps<>+4(SB), V4  \
	VMAXPS       V0, V4, V0        \
	VBROADCASTSS exps<>+8(SB), V4  \
	VBROADCASTSS exps<>+12(SB), V2 \
	VMOVAPS      V2, V3            \
	VFMADD231PS  V0, V4, V3        \
	VSUBPS       V2, V3, V3        \
	VBROADCASTSS exps<>+16(SB), V4 \
	VFNMADD231PS V3, V4, V0        \
	VBROADCASTSS exps<>+20(SB), V4 \
	VFNMADD231PS V3, V4, V0        \
	VBROADCASTSS exps<>+24(SB), V1 \
	TERM(exps<>+28(SB), V0, V1)    \
	TERM(exps<>+32(SB), V0, V1)    \
	TERM(exps<>+36(SB), V0, V1)    \
	TERM(exps<>+40(SB), V0, V1)    \
	TERM(exps<>+44(SB), V0, V1)    \
	TERM(exps<>+44(SB), V0, V1)    \
	VMOVAPS      V1, V0            \
	SCALE(V3, V0)

// SHIFTEDEXP: V0 = e^(V0−V8).
#define SHIFTEDEXP \
	VSUBPS V8, V0, V0 \
	EXP

// SIGMOID: with z = e^−|x|, 1/(1+z) for x ≥ 0 and z/(1+z) below, so that nothing overflows.
#define SIGMOID \
	VMOVAPS V0, V6     \
	SIGN(V4)           \
	VORPS   V4, V0, V0 \
	EXP                \
	ONE(V1)            \
	VADDPS  V1, V0, V2 \
	BYSIGN(V6, V0, V1, V3) \
	VDIVPS  V2, V3, V0

// TANH: |x| + |x|³·p(x²) below 0.625, 1 − 2/(e^2|x| + 1) above, with the sign of x.
#define TANH \
	VMOVAPS  V0, V6         \
	SIGN(V4)                \
	VANDNPS  V6, V4, V7     \
	VADDPS   V7, V7, V0     \
	EXP                     \
	ONE(V4)                 \
	VADDPS   V4, V0, V0     \
	TWO(V1)                 \
	VDIVPS   V0, V1, V0     \
	VSUBPS   V0, V4, V0     \
	VMULPS   V7, V7, V1     \
	VBROADCASTSS exps<>+60(SB), V2 \
	TERM(exps<>+64(SB), V1, V2)    \
	TERM(exps<>+68(SB), V1, V2)    \
	TERM(exps<>+72(SB), V1, V2)    \
	TERM(exps<>+76(SB), V1, V2)    \
	VMULPS   V1, V2, V2     \
	VMOVAPS  V7, V3         \
	VFMADD231PS V7, V2, V3  \
	VBROADCASTSS exps<>+56(SB), V4 \
	LESS(V7, V4, V3, V0, V0) \
	SIGN(V4)                \
	VANDPS   V6, V4, V4     \
	VORPS    V4, V0, V0
