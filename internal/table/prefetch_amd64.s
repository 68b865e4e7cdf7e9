#include "textflag.h"

// func prefetchEntries(entries *uint64, mask uint32, items *item, n int)
TEXT ·prefetchEntries(SB), NOSPLIT, $0-32
	MOVQ entries+0(FP), AX
	MOVL mask+8(FP), BX
	MOVQ items+16(FP), CX
	MOVQ n+24(FP), DX
	TESTQ DX, DX
	JLE  done

next:
	MOVL 8(CX), SI          // item.hash
	ANDL BX, SI
	PREFETCHT0 (AX)(SI*8)
	ADDQ $16, CX
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
