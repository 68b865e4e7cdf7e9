#include "textflag.h"

// Numbers in fewer bits, eight at a time and then one by one. DI dst, SI x or src, CX numbers left.

// NUMBERS runs EIGHT and ONE on so many numbers.
#define NUMBERS(EIGHT, ONE) \
	SUBQ $8, CX \
	JLT  rest   \
eight:          \
	EIGHT       \
	SUBQ $8, CX \
	JGE  eight  \
rest:           \
	ADDQ $8, CX \
	JZ   done   \
one:            \
	ONE         \
	DECQ CX     \
	JNZ  one    \
done:           \
	VZEROUPPER  \
	RET

#define BROADCAST(bits, x, y) \
	MOVL $bits, AX     \
	VMOVD AX, x        \
	VBROADCASTSS x, y

// CLAMP writes a to c, no further from zero than Y8, of which Y9 is the negative.
#define CLAMP(a, c, high, low) \
	VMINPS high, a, c \
	VMAXPS low, c, c

#define HALF8 \
	VMOVUPS   (SI), Y0    \
	CLAMP(Y0, Y1, Y8, Y9) \
	VCVTPS2PH $0, Y1, X2  \
	VMOVDQU   X2, (DI)    \
	VCVTPH2PS X2, Y3      \
	VSUBPS    Y3, Y0, Y0  \
	VMOVUPS   Y0, (SI)    \
	ADDQ $32, SI          \
	ADDQ $16, DI

#define HALF1 \
	VMOVSS    (SI), X0    \
	CLAMP(X0, X1, X8, X9) \
	VCVTPS2PH $0, X1, X2  \
	VMOVD     X2, AX      \
	MOVW      AX, (DI)    \
	VCVTPH2PS X2, X3      \
	VSUBSS    X3, X0, X0  \
	VMOVSS    X0, (SI)    \
	ADDQ $4, SI           \
	ADDQ $2, DI

// func halfLanes(dst []byte, x []float32)
TEXT ·halfLanes(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	BROADCAST(0x477fe000, X8, Y8) // 65504
	BROADCAST(0xc77fe000, X9, Y9)
	NUMBERS(HALF8, HALF1)

#define FROMHALF8 \
	VCVTPH2PS (SI), Y0 \
	VMOVUPS   Y0, (DI) \
	ADDQ $16, SI       \
	ADDQ $32, DI

#define FROMHALF1 \
	MOVWLZX   (SI), AX \
	VMOVD     AX, X0   \
	VCVTPH2PS X0, X0   \
	VMOVSS    X0, (DI) \
	ADDQ $2, SI        \
	ADDQ $4, DI

// func fromHalfLanes(dst []float32, src []byte)
TEXT ·fromHalfLanes(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	NUMBERS(FROMHALF8, FROMHALF1)

// UPPER rounds the clamped c to its upper half, in n as 32 bits, and sets c to what that is worth. Clobbers n.
#define UPPER(c, n, one, almost) \
	VPSRLD $16, c, n    \
	VPAND  one, n, n    \
	VPADDD n, c, c      \
	VPADDD almost, c, c \
	VPSRLD $16, c, n    \
	VPSLLD $16, n, c

#define BFLOAT8 \
	VMOVUPS (SI), Y0        \
	CLAMP(Y0, Y1, Y8, Y9)   \
	UPPER(Y1, Y2, Y10, Y11) \
	VSUBPS  Y1, Y0, Y0      \
	VMOVUPS Y0, (SI)        \
	VEXTRACTI128 $1, Y2, X3 \
	VPACKUSDW X3, X2, X2    \
	VMOVDQU X2, (DI)        \
	ADDQ $32, SI            \
	ADDQ $16, DI

#define BFLOAT1 \
	VMOVSS (SI), X0         \
	CLAMP(X0, X1, X8, X9)   \
	UPPER(X1, X2, X10, X11) \
	VSUBSS X1, X0, X0       \
	VMOVSS X0, (SI)         \
	VMOVD  X2, AX           \
	MOVW   AX, (DI)         \
	ADDQ $4, SI             \
	ADDQ $2, DI

// func bfloatLanes(dst []byte, x []float32)
TEXT ·bfloatLanes(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	BROADCAST(0x7f7f0000, X8, Y8)
	BROADCAST(0xff7f0000, X9, Y9)
	BROADCAST(1, X10, Y10)
	BROADCAST(0x7fff, X11, Y11)
	NUMBERS(BFLOAT8, BFLOAT1)

#define FROMBFLOAT8 \
	VPMOVZXWD (SI), Y0     \
	VPSLLD    $16, Y0, Y0  \
	VMOVUPS   Y0, (DI)     \
	ADDQ $16, SI           \
	ADDQ $32, DI

#define FROMBFLOAT1 \
	MOVWLZX (SI), AX \
	SHLL $16, AX     \
	MOVL AX, (DI)    \
	ADDQ $2, SI      \
	ADDQ $4, DI

// func fromBFloatLanes(dst []float32, src []byte)
TEXT ·fromBFloatLanes(SB), NOSPLIT, $0-48
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	NUMBERS(FROMBFLOAT8, FROMBFLOAT1)

// UNITS8 and UNITS1 make whole numbers in units of Y8, of which Y9 is the inverse.
#define UNITS8 \
	VMOVUPS   (SI), Y0      \
	VMULPS    Y9, Y0, Y1    \
	VCVTPS2DQ Y1, Y1        \
	VCVTDQ2PS Y1, Y2        \
	VMULPS    Y8, Y2, Y2    \
	VSUBPS    Y2, Y0, Y0    \
	VMOVUPS   Y0, (SI)      \
	VEXTRACTI128 $1, Y1, X2 \
	VPACKSSDW X2, X1, X1    \
	VPACKSSWB X1, X1, X1    \
	VMOVQ     X1, (DI)      \
	ADDQ $32, SI            \
	ADDQ $8, DI

#define UNITS1 \
	VMOVSS    (SI), X0   \
	VMULSS    X9, X0, X1 \
	VCVTPS2DQ X1, X1     \
	VCVTDQ2PS X1, X2     \
	VMULSS    X8, X2, X2 \
	VSUBSS    X2, X0, X0 \
	VMOVSS    X0, (SI)   \
	VMOVD     X1, AX     \
	MOVB      AX, (DI)   \
	ADDQ $4, SI          \
	INCQ DI

// func int8Lanes(dst []byte, x []float32) (scale float32)
TEXT ·int8Lanes(SB), NOSPLIT, $0-52
	MOVQ x_base+24(FP), SI
	MOVQ x_len+32(FP), CX
	BROADCAST(0x7fffffff, X7, Y7)
	VXORPS Y0, Y0, Y0 // largest magnitudes
	SUBQ $8, CX
	JLT  largestRest
largestEight:
	VANDPS (SI), Y7, Y1
	VMAXPS Y1, Y0, Y0
	ADDQ $32, SI
	SUBQ $8, CX
	JGE  largestEight
largestRest:
	VEXTRACTF128 $1, Y0, X1
	VMAXPS  X1, X0, X0
	VMOVHLPS X0, X0, X1
	VMAXPS  X1, X0, X0
	VMOVSHDUP X0, X1
	VMAXSS  X1, X0, X0
	ADDQ $8, CX
	JZ   scales
largestOne:
	VMOVSS (SI), X1
	VANDPS X7, X1, X1
	VMAXSS X1, X0, X0
	ADDQ $4, SI
	DECQ CX
	JNZ  largestOne

scales:
	MOVQ  dst_base+0(FP), DI
	MOVQ  x_base+24(FP), SI
	MOVQ  x_len+32(FP), CX
	VMOVD X0, AX
	CMPL  AX, $0x04000000 // 2⁻¹¹⁹; magnitudes compare as their bits
	JGE   units
	MOVL  $0, scale+48(FP)
	XORL  AX, AX
	CLD
	REP
	STOSB
	VZEROUPPER
	RET

units:
	MOVL  $0x42fe0001, AX // the number after 127
	VMOVD AX, X1
	VDIVSS X1, X0, X8     // scale
	MOVL  $0x42fe0000, AX // 127
	VMOVD AX, X1
	VDIVSS X0, X1, X9     // its inverse
	VMOVSS X8, scale+48(FP)
	VBROADCASTSS X8, Y8
	VBROADCASTSS X9, Y9
	NUMBERS(UNITS8, UNITS1)

#define FROMUNITS8 \
	VPMOVSXBD (SI), Y0   \
	VCVTDQ2PS Y0, Y0     \
	VMULPS    Y8, Y0, Y0 \
	VMOVUPS   Y0, (DI)   \
	ADDQ $8, SI          \
	ADDQ $32, DI

#define FROMUNITS1 \
	MOVBLSX   (SI), AX   \
	VMOVD     AX, X0     \
	VCVTDQ2PS X0, X0     \
	VMULSS    X8, X0, X0 \
	VMOVSS    X0, (DI)   \
	INCQ SI              \
	ADDQ $4, DI

// func fromInt8Lanes(dst []float32, src []byte, scale float32)
TEXT ·fromInt8Lanes(SB), NOSPLIT, $0-52
	MOVQ dst_base+0(FP), DI
	MOVQ dst_len+8(FP), CX
	MOVQ src_base+24(FP), SI
	VBROADCASTSS scale+48(FP), Y8
	NUMBERS(FROMUNITS8, FROMUNITS1)
