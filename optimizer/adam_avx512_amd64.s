#include "textflag.h"

#define WIDTH 64
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13

#include "adam_amd64.h"

// func adamAVX512(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
TEXT ·adamAVX512(SB), NOSPLIT, $0-120
	ARGUMENTS
	VECTORS
	ADDQ $LANES, CX
	JZ   done

	// The last, as many as CX says, under a mask.
	MOVL  $1, R9
	SHLL  CX, R9
	DECL  R9
	KMOVW R9, K1
	VMOVUPS.Z (SI), K1, V0
	VMOVUPS.Z (R8), K1, V1
	VMOVUPS.Z (R10), K1, V2
	VMOVUPS.Z (DI), K1, V3
	UPDATE
	VMOVUPS V1, K1, (R8)
	VMOVUPS V2, K1, (R10)
	VMOVUPS V3, K1, (DI)

done:
	VZEROUPPER
	RET
