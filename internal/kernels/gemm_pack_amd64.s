#include "textflag.h"

// func turn8(panel []float32, height int, src []float32, stride, depth int)
// Four columns of eight rows a turn: pairs of rows r and r+4 share a register, so that all shuffles stay in its halves.
TEXT ·turn8(SB), NOSPLIT, $0-72
	MOVQ panel_base+0(FP), DI
	MOVQ height+24(FP), DX
	MOVQ src_base+32(FP), SI
	MOVQ stride+56(FP), R8
	MOVQ depth+64(FP), CX
	SHLQ $2, DX
	SHLQ $2, R8
	LEAQ (DX)(DX*2), R9
	LEAQ (R8)(R8*2), R10
	LEAQ (SI)(R10*2), R11 // rows 6 and 7
	ADDQ SI, R10          // rows 3, 4 and 5

	SUBQ $4, CX
	JLT  done

loop:
	VMOVUPS     (SI), X0
	VMOVUPS     (SI)(R8*1), X1
	VMOVUPS     (SI)(R8*2), X2
	VMOVUPS     (R10), X3
	VINSERTF128 $1, (R10)(R8*1), Y0, Y0
	VINSERTF128 $1, (R10)(R8*2), Y1, Y1
	VINSERTF128 $1, (R11), Y2, Y2
	VINSERTF128 $1, (R11)(R8*1), Y3, Y3
	VUNPCKLPS   Y1, Y0, Y4
	VUNPCKHPS   Y1, Y0, Y5
	VUNPCKLPS   Y3, Y2, Y6
	VUNPCKHPS   Y3, Y2, Y7
	VSHUFPS     $0x44, Y6, Y4, Y0
	VSHUFPS     $0xee, Y6, Y4, Y1
	VSHUFPS     $0x44, Y7, Y5, Y2
	VSHUFPS     $0xee, Y7, Y5, Y3
	VMOVUPS     Y0, (DI)
	VMOVUPS     Y1, (DI)(DX*1)
	VMOVUPS     Y2, (DI)(DX*2)
	VMOVUPS     Y3, (DI)(R9*1)
	LEAQ        (DI)(DX*4), DI
	ADDQ        $16, SI
	ADDQ        $16, R10
	ADDQ        $16, R11
	SUBQ        $4, CX
	JGE         loop

done:
	VZEROUPPER
	RET

// func copy8(panel []float32, height int, src []float32, stride, rows, depth int)
TEXT ·copy8(SB), NOSPLIT, $0-80
	MOVQ panel_base+0(FP), DI
	MOVQ height+24(FP), DX
	MOVQ src_base+32(FP), SI
	MOVQ stride+56(FP), R8
	MOVQ rows+64(FP), R9
	MOVQ depth+72(FP), CX
	SHLQ $2, DX
	SHLQ $2, R8
	SHLQ $2, R9

column:
	XORQ AX, AX

rows:
	VMOVUPS (SI)(AX*1), Y0
	VMOVUPS Y0, (DI)(AX*1)
	ADDQ    $32, AX
	CMPQ    AX, R9
	JLT     rows
	ADDQ    R8, SI
	ADDQ    DX, DI
	DECQ    CX
	JNZ     column
	VZEROUPPER
	RET
