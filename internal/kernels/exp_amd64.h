// The exponential function and what is made of it, on a vector V0; see exps.h for the formula and vector_amd64.h for the macros
// used here.

#include "exps.h"

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
