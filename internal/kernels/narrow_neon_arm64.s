#include "textflag.h"
#include "neon_arm64.h"

// Numbers in fewer bits, four at a time and then one by one. R0 dst, R1 x or src, R2 numbers left.

// NUMBERS runs FOUR and ONE on so many numbers.
#define NUMBERS(FOUR, ONE) \
	SUBS $4, R2  \
	BLT  rest    \
four:            \
	FOUR         \
	SUBS $4, R2  \
	BGE  four    \
rest:            \
	ADDS $4, R2  \
	BEQ  done    \
one:             \
	ONE          \
	SUBS $1, R2  \
	BNE  one     \
done:

#define CONST(bits, v) \
	MOVD $bits, R4 \
	VDUP R4, v.S4

// CLAMP writes V0 to V1, no further from zero than V8, of which V9 is the negative.
#define CLAMP \
	FMIN(8, 0, 1) \
	FMAX(9, 1, 1)

// HALF makes halves of V0 in V2, and leaves in V0 what they don't hold.
#define HALF \
	CLAMP          \
	TOHALF(1, 2)   \
	FROMHALF(2, 3) \
	FSUB(3, 0, 0)

// BFLOAT does so with upper halves: V10 is 1, V11 0x7fff. A bit more than half of the last place goes up, half only
// if it is odd.
#define BFLOAT \
	CLAMP                       \
	VUSHR $16, V1.S4, V2.S4     \
	VAND  V10.B16, V2.B16, V2.B16 \
	VADD  V2.S4, V1.S4, V1.S4   \
	VADD  V11.S4, V1.S4, V1.S4  \
	VUSHR $16, V1.S4, V2.S4     \
	VSHL  $16, V2.S4, V3.S4     \
	TO16(2, 2)                  \
	FSUB(3, 0, 0)

// NARROW4 and NARROW1 run a format on what is at R1.
#define NARROW4(FORMAT) \
	FMOVQ (R1), F0     \
	FORMAT             \
	FMOVQ.P F0, 16(R1) \
	FMOVD.P F2, 8(R0)

#define NARROW1(FORMAT) \
	FMOVS (R1), F0     \
	FORMAT             \
	FMOVS.P F0, 4(R1)  \
	VMOV  V2.H[0], R4  \
	MOVH.P R4, 2(R0)

#define HALF4 NARROW4(HALF)
#define HALF1 NARROW1(HALF)

// func halfLanes(dst []byte, x []float32)
TEXT ·halfLanes(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	CONST(0x477fe000, V8) // 65504
	CONST(0xc77fe000, V9)
	NUMBERS(HALF4, HALF1)
	RET

#define BFLOAT4 NARROW4(BFLOAT)
#define BFLOAT1 NARROW1(BFLOAT)

// func bfloatLanes(dst []byte, x []float32)
TEXT ·bfloatLanes(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	CONST(0x7f7f0000, V8)
	CONST(0xff7f0000, V9)
	CONST(1, V10)
	CONST(0x7fff, V11)
	NUMBERS(BFLOAT4, BFLOAT1)
	RET

#define FROMHALF4 \
	FMOVD.P 8(R1), F0 \
	FROMHALF(0, 0)    \
	FMOVQ.P F0, 16(R0)

#define FROMHALF1 \
	MOVHU.P 2(R1), R4 \
	VMOV R4, V0.H[0]  \
	FROMHALF(0, 0)    \
	FMOVS.P F0, 4(R0)

// func fromHalfLanes(dst []float32, src []byte)
TEXT ·fromHalfLanes(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD src_base+24(FP), R1
	NUMBERS(FROMHALF4, FROMHALF1)
	RET

#define FROMBFLOAT4 \
	FMOVD.P 8(R1), F0        \
	VUSHLL $0, V0.H4, V0.S4  \
	VSHL  $16, V0.S4, V0.S4  \
	FMOVQ.P F0, 16(R0)

#define FROMBFLOAT1 \
	MOVHU.P 2(R1), R4 \
	LSL  $16, R4      \
	MOVW.P R4, 4(R0)

// func fromBFloatLanes(dst []float32, src []byte)
TEXT ·fromBFloatLanes(SB), NOSPLIT, $0-48
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R2
	MOVD src_base+24(FP), R1
	NUMBERS(FROMBFLOAT4, FROMBFLOAT1)
	RET

// LARGEST keeps the largest magnitudes in V7, for the numbers of V0.
#define LARGEST \
	FABS(0, 0)    \
	FMAX(0, 7, 7)

// UNITS makes whole numbers of V0 in V1, in units of V8, of which V9 is the inverse, and leaves in V0 what they don't
// hold.
#define UNITS \
	FMUL(9, 0, 1) \
	FCVTNS(1, 1)  \
	SCVTF(1, 2)   \
	FMUL(8, 2, 2) \
	FSUB(2, 0, 0)

#define UNITS4 \
	FMOVQ (R1), F0     \
	UNITS              \
	FMOVQ.P F0, 16(R1) \
	TO16(1, 1)         \
	TO8(1, 1)          \
	FMOVS.P F1, 4(R0)

#define UNITS1 \
	FMOVS (R1), F0    \
	UNITS             \
	FMOVS.P F0, 4(R1) \
	VMOV  V1.B[0], R4 \
	MOVB.P R4, 1(R0)

// func int8Lanes(dst []byte, x []float32) (scale float32)
TEXT ·int8Lanes(SB), NOSPLIT, $0-52
	MOVD x_base+24(FP), R1
	MOVD x_len+32(FP), R2
	VEOR V7.B16, V7.B16, V7.B16
	SUBS $4, R2
	BLT  largestRest

largest4:
	FMOVQ.P 16(R1), F0
	LARGEST
	SUBS $4, R2
	BGE  largest4

largestRest:
	ADDS $4, R2
	BEQ  scales

largest1:
	FMOVS.P 4(R1), F0
	LARGEST
	SUBS $1, R2
	BNE  largest1

scales:
	MOVD  dst_base+0(FP), R0
	MOVD  x_base+24(FP), R1
	MOVD  x_len+32(FP), R2
	FMAXV(7, 7)
	FMOVS F7, R4
	MOVD  $0x04000000, R5 // 2⁻¹¹⁹; magnitudes compare as their bits
	CMPW  R5, R4
	BLT   nothing
	MOVD  $0x42fe0001, R4 // the number after 127
	FMOVS R4, F0
	FDIVS F0, F7, F8
	FMOVS F8, scale+48(FP)
	VDUP  V8.S[0], V8.S4
	MOVD  $0x42fe0000, R4 // 127
	FMOVS R4, F0
	FDIVS F7, F0, F9
	VDUP  V9.S[0], V9.S4
	NUMBERS(UNITS4, UNITS1)
	RET

nothing:
	MOVW ZR, scale+48(FP)
	CBZ  R2, none

clear:
	MOVB.P ZR, 1(R0)
	SUBS   $1, R2
	BNE    clear

none:
	RET

// FROMUNITS: V0 = V8 times the whole numbers of V0.
#define FROMUNITS \
	SCVTF(0, 0)   \
	FMUL(8, 0, 0)

#define FROMUNITS4 \
	FMOVS.P 4(R1), F0  \
	FROM8(0, 0)        \
	FROM16(0, 0)       \
	FROMUNITS          \
	FMOVQ.P F0, 16(R0)

#define FROMUNITS1 \
	MOVB.P 1(R1), R4  \
	FMOVS R4, F0      \
	FROMUNITS         \
	FMOVS.P F0, 4(R0)

// func fromInt8Lanes(dst []float32, src []byte, scale float32)
TEXT ·fromInt8Lanes(SB), NOSPLIT, $0-52
	MOVD  dst_base+0(FP), R0
	MOVD  dst_len+8(FP), R2
	MOVD  src_base+24(FP), R1
	FMOVS scale+48(FP), F8
	VDUP  V8.S[0], V8.S4
	NUMBERS(FROMUNITS4, FROMUNITS1)
	RET
