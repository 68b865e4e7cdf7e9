#include "textflag.h"

// func sgd8(w, g []float32, lr float32)
//
// DI w, SI g; CX weights are left, a multiple of 8. Every product is rounded before it is subtracted, as in Go.
TEXT ·sgd8(SB), NOSPLIT, $0-52
	MOVQ         w_base+0(FP), DI
	MOVQ         w_len+8(FP), CX
	MOVQ         g_base+24(FP), SI
	VBROADCASTSS lr+48(FP), Y8
	SUBQ         $32, CX
	JLT          eights

loop32:
	VMULPS  (SI), Y8, Y0
	VMULPS  32(SI), Y8, Y1
	VMULPS  64(SI), Y8, Y2
	VMULPS  96(SI), Y8, Y3
	VMOVUPS (DI), Y4
	VMOVUPS 32(DI), Y5
	VMOVUPS 64(DI), Y6
	VMOVUPS 96(DI), Y7
	VSUBPS  Y0, Y4, Y4
	VSUBPS  Y1, Y5, Y5
	VSUBPS  Y2, Y6, Y6
	VSUBPS  Y3, Y7, Y7
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, 32(DI)
	VMOVUPS Y6, 64(DI)
	VMOVUPS Y7, 96(DI)
	ADDQ    $128, SI
	ADDQ    $128, DI
	SUBQ    $32, CX
	JGE     loop32

eights:
	ADDQ $32, CX
	JZ   done

loop8:
	VMULPS  (SI), Y8, Y0
	VMOVUPS (DI), Y4
	VSUBPS  Y0, Y4, Y4
	VMOVUPS Y4, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop8

done:
	VZEROUPPER
	RET
