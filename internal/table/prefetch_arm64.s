#include "textflag.h"

// func prefetchEntries(places *place, shift uint, items *item, n int)
TEXT ·prefetchEntries(SB), NOSPLIT, $0-32
	MOVD places+0(FP), R0
	MOVD shift+8(FP), R1
	MOVD items+16(FP), R2
	MOVD n+24(FP), R3
	CMP  $0, R3
	BLE  done

next:
	MOVWU 8(R2), R4          // item.hash
	AND   $1023, R4, R5
	LSR   R1, R4, R4         // of 64 bits: a shift by 32 leaves 0
	ADD   R4<<4, R0, R4      // a place has 16 bytes
	MOVD  (R4), R4           // its entries
	ADD   R5<<3, R4, R4
	PRFM  (R4), PLDL1KEEP
	ADD   $16, R2
	SUBS  $1, R3
	BNE   next

done:
	RET

// func prefetchRows(rows **header, n, last int)
TEXT ·prefetchRows(SB), NOSPLIT, $0-24
	MOVD rows+0(FP), R0
	MOVD n+8(FP), R1
	MOVD last+16(FP), R2
	CMP  $0, R1
	BLE  done

next:
	MOVD.P 8(R0), R3         // nil for a missing row: a prefetch never faults
	ADD    R2, R3, R4
	PRFM   (R4), PLDL1KEEP

line:
	PRFM (R3), PLDL1KEEP
	ADD  $64, R3
	CMP  R4, R3
	BLT  line
	SUBS $1, R1
	BNE  next

done:
	RET
