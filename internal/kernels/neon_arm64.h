// Instructions of NEON for which Go's assembler has no name, as the words they are: TestWords has each assembled by
// the comment behind it. Operands are numbers of vector registers, in Go's order: sources from the last to the first,
// then the destination.

#define FADD(m, n, d)  WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d)) // fadd d.4s, n.4s, m.4s
#define FSUB(m, n, d)  WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d)) // fsub d.4s, n.4s, m.4s
#define FMUL(m, n, d)  WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d)) // fmul d.4s, n.4s, m.4s
#define FDIV(m, n, d)  WORD $(0x6e20fc00 | (m)<<16 | (n)<<5 | (d)) // fdiv d.4s, n.4s, m.4s
#define FMAX(m, n, d)  WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d)) // fmax d.4s, n.4s, m.4s
#define FMIN(m, n, d)  WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d)) // fmin d.4s, n.4s, m.4s
#define FMLA(m, n, d)  WORD $(0x4e20cc00 | (m)<<16 | (n)<<5 | (d)) // fmla d.4s, n.4s, m.4s
#define FCMGT(m, n, d) WORD $(0x6ea0e400 | (m)<<16 | (n)<<5 | (d)) // fcmgt d.4s, n.4s, m.4s
#define BIC(m, n, d)   WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d)) // bic d.16b, n.16b, m.16b
#define BIT(m, n, d)   WORD $(0x6ea01c00 | (m)<<16 | (n)<<5 | (d)) // bit d.16b, n.16b, m.16b

#define FABS(n, d)   WORD $(0x4ea0f800 | (n)<<5 | (d)) // fabs d.4s, n.4s
#define FMAXV(n, d)  WORD $(0x6e30f800 | (n)<<5 | (d)) // fmaxv s_d, n.4s
#define FCMLT0(n, d) WORD $(0x4ea0e800 | (n)<<5 | (d)) // fcmlt d.4s, n.4s, #0.0
#define FCMLE0(n, d) WORD $(0x6ea0d800 | (n)<<5 | (d)) // fcmle d.4s, n.4s, #0.0
#define FCVTNS(n, d) WORD $(0x4e21a800 | (n)<<5 | (d)) // fcvtns d.4s, n.4s
#define SCVTF(n, d)  WORD $(0x4e21d800 | (n)<<5 | (d)) // scvtf d.4s, n.4s

// FMLAE and FMLSE multiply by element e of m.
#define FMLAE(m, e, n, d) WORD $(0x4f801000|((e)&1)<<21|((e)&2)<<10|(m)<<16|(n)<<5|(d)) // fmla d.4s, n.4s, m.s[e]
#define FMLSE(m, e, n, d) WORD $(0x4f805000|((e)&1)<<21|((e)&2)<<10|(m)<<16|(n)<<5|(d)) // fmls d.4s, n.4s, m.s[e]

// HALVE shifts whole numbers by one bit, SIGNS by all: −1 for those below zero, else 0.
#define HALVE(n, d) WORD $(0x4f3f0400 | (n)<<5 | (d)) // sshr d.4s, n.4s, #1
#define SIGNS(n, d) WORD $(0x4f210400 | (n)<<5 | (d)) // sshr d.4s, n.4s, #31

// Two float64: WIDEN and WIDEN2 make them of the lower and the upper half of n, NARROW and NARROW2 return them there.
#define FADDD(m, n, d)  WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d)) // fadd d.2d, n.2d, m.2d
#define FSUBD(m, n, d)  WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d)) // fsub d.2d, n.2d, m.2d
#define FMULD(m, n, d)  WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d)) // fmul d.2d, n.2d, m.2d
#define WIDEN(n, d)     WORD $(0x0e617800 | (n)<<5 | (d)) // fcvtl d.2d, n.2s
#define WIDEN2(n, d)    WORD $(0x4e617800 | (n)<<5 | (d)) // fcvtl2 d.2d, n.4s
#define NARROW(n, d)    WORD $(0x0e616800 | (n)<<5 | (d)) // fcvtn d.2s, n.2d
#define NARROW2(n, d)   WORD $(0x4e616800 | (n)<<5 | (d)) // fcvtn2 d.4s, n.2d

// Halves, and whole numbers in fewer bits.
#define TOHALF(n, d)   WORD $(0x0e216800 | (n)<<5 | (d)) // fcvtn d.4h, n.4s
#define FROMHALF(n, d) WORD $(0x0e217800 | (n)<<5 | (d)) // fcvtl d.4s, n.4h
#define TO16(n, d)     WORD $(0x0e612800 | (n)<<5 | (d)) // xtn d.4h, n.4s
#define TO8(n, d)      WORD $(0x0e212800 | (n)<<5 | (d)) // xtn d.8b, n.8h
#define FROM8(n, d)    WORD $(0x0f08a400 | (n)<<5 | (d)) // sxtl d.8h, n.8b
#define FROM16(n, d)   WORD $(0x0f10a400 | (n)<<5 | (d)) // sxtl d.4s, n.4h
