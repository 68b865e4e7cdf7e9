// The exponential function and what is made of it, on a vector V0; see exps.h for the formula. EXPS loads the
// constants to V24 … V28, four to a register: constant i is element i%4 of register 24 + i/4.

#include "exps.h"

#define EXPS \
	MOVD  $exps<>(SB), R4                                  \
	VLD1.P 64(R4), [V24.S4, V25.S4, V26.S4, V27.S4]        \
	VLD1  (R4), [V28.S4]

#define ONE(v)  VDUP V26.S[3], v.S4
#define TWO(v)  VDUP V27.S[0], v.S4
#define SIGN(v) VDUP V27.S[1], v.S4

// TERM is a step of Horner's rule: q = p·x + the constant.
#define TERM(const, x, p, q) \
	VDUP  const, q.S4     \
	VFMLA x.S4, p.S4, q.S4

// EXP: V0 = eᵛ⁰; clobbers V1 … V4. Limits keep a NaN. 2ⁿ comes in two factors, of n/2 and n−n/2, since 2ⁿ itself may
// not exist.
#define EXP \
	VDUP  V24.S[0], V4.S4     \
	FMIN(4, 0, 0)             \
	VDUP  V24.S[1], V4.S4     \
	FMAX(4, 0, 0)             \
	VDUP  V24.S[3], V2.S4     \
	VDUP  V24.S[3], V3.S4     \
	FMLAE(24, 2, 0, 3)        \
	FSUB(2, 3, 3)             \
	FMLSE(25, 0, 3, 0)        \
	FMLSE(25, 1, 3, 0)        \
	VDUP  V25.S[2], V1.S4     \
	TERM(V25.S[3], V0, V1, V4) \
	TERM(V26.S[0], V0, V4, V1) \
	TERM(V26.S[1], V0, V1, V4) \
	TERM(V26.S[2], V0, V4, V1) \
	TERM(V26.S[3], V0, V1, V4) \
	TERM(V26.S[3], V0, V4, V1) \
	FCVTNS(3, 3)              \
	HALVE(3, 4)               \
	VSUB  V4.S4, V3.S4, V3.S4 \
	VSHL  $23, V3.S4, V3.S4   \
	VSHL  $23, V4.S4, V4.S4   \
	ONE(V2)                   \
	VADD  V2.S4, V3.S4, V3.S4 \
	VADD  V2.S4, V4.S4, V4.S4 \
	FMUL(4, 1, 0)             \
	FMUL(3, 0, 0)

// SHIFTEDEXP: V0 = e^(V0−V8).
#define SHIFTEDEXP \
	FSUB(8, 0, 0) \
	EXP

// SIGMOID: with z = e^−|x|, 1/(1+z) for x ≥ 0 and z/(1+z) below, so that nothing overflows.
#define SIGMOID \
	VMOV V0.B16, V6.B16         \
	SIGN(V4)                    \
	VORR V4.B16, V0.B16, V0.B16 \
	EXP                         \
	ONE(V1)                     \
	FADD(1, 0, 2)               \
	SIGNS(6, 3)                 \
	VBSL V1.B16, V0.B16, V3.B16 \
	FDIV(2, 3, 0)

// TANH: |x| + |x|³·p(x²) below 0.625, 1 − 2/(e^2|x| + 1) above, with the sign of x.
#define TANH \
	VMOV V0.B16, V6.B16          \
	FABS(0, 7)                   \
	FADD(7, 7, 0)                \
	EXP                          \
	ONE(V4)                      \
	FADD(4, 0, 0)                \
	TWO(V1)                      \
	FDIV(0, 1, 0)                \
	FSUB(0, 4, 0)                \
	FMUL(7, 7, 1)                \
	VDUP V27.S[3], V2.S4         \
	TERM(V28.S[0], V1, V2, V3)   \
	TERM(V28.S[1], V1, V3, V2)   \
	TERM(V28.S[2], V1, V2, V3)   \
	TERM(V28.S[3], V1, V3, V2)   \
	FMUL(1, 2, 2)                \
	VMOV  V7.B16, V3.B16         \
	VFMLA V7.S4, V2.S4, V3.S4    \
	VDUP  V27.S[2], V4.S4        \
	FCMGT(7, 4, 4)               \
	VBSL V0.B16, V3.B16, V4.B16  \
	SIGN(V1)                     \
	VAND V6.B16, V1.B16, V1.B16  \
	VORR V4.B16, V1.B16, V0.B16
