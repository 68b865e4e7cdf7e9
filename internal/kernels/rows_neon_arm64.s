#include "textflag.h"
#include "neon_arm64.h"

// Moves of rows. R0 and R1 point to rows of the batch and of the table, whose dimension is R2; R3 points to the
// index, of which R4 are left. R5 points into the row of the table and R6 counts what is left of it.

// ROWS runs SIXTEEN, FOUR and ONE on so many elements of each row.
#define ROWS(SIXTEEN, FOUR, ONE) \
	LSL  $2, R2, R9      \
	CBZ  R4, done        \
next:                    \
	MOVW.P 4(R3), R5     \
	MADD R5, R1, R9, R5  \
	SUBS $16, R2, R6     \
	BLT  under16         \
sixteen:                 \
	SIXTEEN              \
	SUBS $16, R6         \
	BGE  sixteen         \
under16:                 \
	ADDS $12, R6         \
	BLT  under4          \
four:                    \
	FOUR                 \
	SUBS $4, R6          \
	BGE  four            \
under4:                  \
	ADDS $4, R6          \
	BEQ  moved           \
one:                     \
	ONE                  \
	SUBS $1, R6          \
	BNE  one             \
moved:                   \
	SUBS $1, R4          \
	BNE  next            \
done:                    \
	RET

#define GATHER16 \
	VLD1.P 64(R5), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)

#define GATHER4 \
	FMOVQ.P 16(R5), F0 \
	FMOVQ.P F0, 16(R0)

#define GATHER1 \
	FMOVS.P 4(R5), F0 \
	FMOVS.P F0, 4(R0)

// func gatherNEON(dst, src []float32, dim int, index []int32)
TEXT ·gatherNEON(SB), NOSPLIT, $0-80
	MOVD dst_base+0(FP), R0
	MOVD src_base+24(FP), R1
	MOVD dim+48(FP), R2
	MOVD index_base+56(FP), R3
	MOVD index_len+64(FP), R4
	ROWS(GATHER16, GATHER4, GATHER1)

#define SCATTER16 \
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4] \
	VLD1   (R5), [V4.S4, V5.S4, V6.S4, V7.S4]   \
	FADD(0, 4, 4)                               \
	FADD(1, 5, 5)                               \
	FADD(2, 6, 6)                               \
	FADD(3, 7, 7)                               \
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R5)

#define SCATTER4 \
	FMOVQ.P 16(R0), F0 \
	FMOVQ   (R5), F4   \
	FADD(0, 4, 4)      \
	FMOVQ.P F4, 16(R5)

#define SCATTER1 \
	FMOVS.P 4(R0), F0 \
	FMOVS   (R5), F4  \
	FADDS   F0, F4    \
	FMOVS.P F4, 4(R5)

// func scatterNEON(dst, src []float32, dim int, index []int32)
TEXT ·scatterNEON(SB), NOSPLIT, $0-80
	MOVD dst_base+0(FP), R1
	MOVD src_base+24(FP), R0
	MOVD dim+48(FP), R2
	MOVD index_base+56(FP), R3
	MOVD index_len+64(FP), R4
	ROWS(SCATTER16, SCATTER4, SCATTER1)
