#include "textflag.h"

#define WIDTH 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13

#include "adam_amd64.h"

// func adam8(w, g, m, v []float32, b1, c1, b2, c2, rate, eps float32)
TEXT ·adam8(SB), NOSPLIT, $0-120
	ARGUMENTS
	VECTORS
	VZEROUPPER
	RET
