// The vocabulary of vector_amd64.h in AVX-512 (F, DQ, VL, BW).

#define WIDTH 64
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15

// The mask is K1; TAILMASK clobbers CX.
#define TAILMASK \
	MOVL  $1, R9 \
	SHLL  CX, R9 \
	DECL  R9     \
	KMOVW R9, K1

#define LOADTAIL(p, x)  VMOVUPS.Z (p), K1, x
#define STORETAIL(x, p) VMOVUPS x, K1, (p)

// 6: not less or equal, true for a NaN.
#define POSITIVE(y, x, z) \
	VCMPPS    $6, V9, y, K2 \
	VMOVAPS.Z x, K2, z

#define BYSIGN(s, neg, pos, z) \
	VPMOVD2M  s, K2 \
	VBLENDMPS neg, pos, K2, z

#define LESS(x, y, yes, no, z) \
	VCMPPS    $1, y, x, K2 \
	VBLENDMPS yes, no, K2, z

#define SCALE(n, x) VSCALEFPS n, x, x
