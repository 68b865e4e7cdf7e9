// The vocabulary of vector_amd64.h in AVX2 and FMA.

#define WIDTH 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15

// masks<> has sixteen words of ones and then sixteen of zeros: the mask of n elements starts 4n bytes before the middle.
DATA masks<>+0(SB)/8, $0xffffffffffffffff
DATA masks<>+8(SB)/8, $0xffffffffffffffff
DATA masks<>+16(SB)/8, $0xffffffffffffffff
DATA masks<>+24(SB)/8, $0xffffffffffffffff
DATA masks<>+32(SB)/8, $0xffffffffffffffff
DATA masks<>+40(SB)/8, $0xffffffffffffffff
DATA masks<>+48(SB)/8, $0xffffffffffffffff
DATA masks<>+56(SB)/8, $0xffffffffffffffff
DATA masks<>+64(SB)/8, $0
DATA masks<>+72(SB)/8, $0
DATA masks<>+80(SB)/8, $0
DATA masks<>+88(SB)/8, $0
DATA masks<>+96(SB)/8, $0
DATA masks<>+104(SB)/8, $0
DATA masks<>+112(SB)/8, $0
DATA masks<>+120(SB)/8, $0
GLOBL masks<>(SB), RODATA|NOPTR, $128

#define TAILMASK \
	LEAQ    masks<>+64(SB), R9 \
	SHLQ    $2, CX             \
	SUBQ    CX, R9             \
	VMOVUPS (R9), V15

#define LOADTAIL(p, x)  VMASKMOVPS (p), V15, x
#define STORETAIL(x, p) VMASKMOVPS x, V15, (p)

// 6: not less or equal, true for a NaN.
#define POSITIVE(y, x, z) \
	VCMPPS $6, V9, y, V5 \
	VANDPS x, V5, z

#define BYSIGN(s, neg, pos, z) VBLENDVPS s, neg, pos, z

#define LESS(x, y, yes, no, z) \
	VCMPPS    $1, y, x, V5 \
	VBLENDVPS V5, yes, no, z

// SCALE multiplies by 2 to the powers n/2 and n−n/2, since 2ⁿ itself may not exist.
#define SCALE(n, x) \
	VCVTPS2DQ n, n    \
	VPSRAD $1, n, V4  \
	VPSUBD V4, n, n   \
	VPSLLD $23, n, n  \
	VPSLLD $23, V4, V4 \
	ONE(V2)           \
	VPADDD V2, n, n   \
	VPADDD V2, V4, V4 \
	VMULPS V4, x, x   \
	VMULPS n, x, x
