#include "textflag.h"

// func prefetchEntries(places *place, shift uint, items *item, n int)
TEXT ·prefetchEntries(SB), NOSPLIT, $0-32
	MOVQ places+0(FP), AX
	MOVQ shift+8(FP), CX
	MOVQ items+16(FP), BX
	MOVQ n+24(FP), DX
	TESTQ DX, DX
	JLE  done

next:
	MOVL 8(BX), SI          // item.hash
	MOVL SI, DI
	SHRQ CX, SI             // of 64 bits: a shift by 32 leaves 0
	SHLQ $4, SI             // a place has 16 bytes
	MOVQ (AX)(SI*1), SI     // its entries
	ANDL $1023, DI
	PREFETCHT0 (SI)(DI*8)
	ADDQ $16, BX
	DECQ DX
	JNZ  next

done:
	RET

// func prefetchRows(rows **header, n, last int)
TEXT ·prefetchRows(SB), NOSPLIT, $0-24
	MOVQ rows+0(FP), AX
	MOVQ n+8(FP), DX
	MOVQ last+16(FP), BX
	TESTQ DX, DX
	JLE  done

next:
	MOVQ (AX), CX           // nil for a missing row: a prefetch never faults
	PREFETCHT0 (CX)(BX*1)
	XORQ SI, SI

line:
	PREFETCHT0 (CX)(SI*1)
	ADDQ $64, SI
	CMPQ SI, BX
	JLT  line
	ADDQ $8, AX
	DECQ DX
	JNZ  next

done:
	RET
